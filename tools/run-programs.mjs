/**
 * Runs programs one after the other in this process, so that the library is loaded once for all of
 * them. Reads `[{ "file", "folder" }]` from stdin; each program runs in its folder. Writes what each
 * printed, and how it failed if it did: `[{ "printed", "failure" }]`. `docs-code.test.ts` starts it.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

const results = [];
for (const { file, folder } of JSON.parse(readFileSync(0, "utf8"))) {
  process.chdir(folder);
  const lines = [];
  console.log = (...parts) => lines.push(`${format(...parts)}\n`);
  const failure = await import(pathToFileURL(file).href).then(
    () => null,
    (error) => String(error?.stack ?? error),
  );
  results.push({ printed: lines.join(""), failure });
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
