/**
 * What Node's own HTTP server takes for an answer: one that reads nothing, checks nothing and sends the same bytes to every
 * request. No server that is made with it can be quicker. Started by the question about HTTP, with the answer to send.
 */
import { createServer } from "node:http";

const [type = "", body = ""] = process.argv.slice(2);
const server = createServer((_request, response) => {
  response.writeHead(200, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) });
  response.end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
});
process.once("SIGTERM", () => process.exit(0));
