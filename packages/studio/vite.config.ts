/**
 * How the studio is built: into the server's own `dist`, so that the package people install holds it.
 * Names of files carry a hash of what they hold, which lets browsers keep them for good.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/",
  build: {
    outDir: fileURLToPath(new URL("../server/dist/studio", import.meta.url)),
    emptyOutDir: true,
    assetsDir: "studio",
    // Everything is a file of its own: the policy of the page allows no `data:` addresses.
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
