/** Where the pages of the documentation are. */
import { fileURLToPath } from "node:url";

/** The path of a page of docs/. */
export function pagePath(name: string): string {
  return fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));
}
