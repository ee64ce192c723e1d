/** What the studio loads and the compiler does not know: style sheets, and a file inside a package. */

/** Style sheets are loaded for what they do to the page. */
declare module "*.css";

/** One step of ForceAtlas2 over its matrices; the package declares its entry alone. */
declare module "graphology-layout-forceatlas2/iterate.js" {
  const iterate: (
    settings: { readonly [name: string]: number | boolean },
    nodes: Float32Array,
    edges: Float32Array,
  ) => void;
  export default iterate;
}
