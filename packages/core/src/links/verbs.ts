/** The verbs of this folder, each under the name that its contract gives it. */
export {
  addEdge,
  addEdge as link,
  getEdge,
  removeEdge,
  removeEdgeById,
} from "./edges.js";
export { backlinksTo, edgesIn, edgesOut, inspect, linksFrom, traverse } from "./walk.js";
