/**
 * Load over HTTP from this process: so many connections, each sending its next request as soon as the
 * answer before it is complete. Sockets and a reader of the few headers that matter, so that the load
 * costs less of the machine than what it is put on; Node's own client would need more than the server.
 */
import { connect } from "node:net";
import { performance } from "node:perf_hooks";
import { seededNumbers } from "./workload.mjs";

/** Connections of a load that is like a busy server's. */
export const CONNECTIONS = 32;

/**
 * What one stretch of load gave.
 * @typedef {{ readonly perSecond: number, readonly times: readonly number[] }} Loaded
 */

/**
 * Sends `count` requests over `connections` connections; `request` gives the bytes of each. Every
 * answer has to be a 200.
 * @param {{
 *   readonly port: number,
 *   readonly connections: number,
 *   readonly count: number,
 *   request(index: number): string,
 * }} load
 * @returns {Promise<Loaded>}
 */
export async function putLoad({ port, connections, count, request }) {
  const times = /** @type {number[]} */ ([]);
  let sent = 0;
  const next = () => (sent < count ? request(sent++) : undefined);
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, () => oneConnection(port, next, times)));
  const ms = performance.now() - start;
  return { perSecond: (1000 * count) / ms, times };
}

/**
 * Reads of one memory each, by random ids.
 * @param {number} port
 * @param {readonly string[]} ids
 * @param {{ readonly count: number, readonly seed: number }} load
 */
export function readLoad(port, ids, { count, seed }) {
  const next = seededNumbers(seed);
  const head = `HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const request = () => `GET /v1/get?id=${ids[next(ids.length)]} ${head}`;
  return putLoad({ port, connections: CONNECTIONS, count, request });
}

/**
 * @param {number} port
 * @param {() => string | undefined} next
 * @param {number[]} times
 * @returns {Promise<void>}
 */
function oneConnection(port, next, times) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    let held = "";
    let sentAt = 0;
    const send = () => {
      const text = next();
      if (text === undefined) {
        socket.end();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(text);
    };
    socket.setEncoding("latin1");
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("close", resolve);
    socket.on("data", (chunk) => {
      held += chunk;
      const answer = answerIn(held);
      if (answer === undefined) return;
      if (answer.status !== 200 || answer.end !== held.length) {
        reject(new Error(`expected an answer with 200, got ${held.slice(0, 300)}`));
        return;
      }
      times.push(performance.now() - sentAt);
      held = "";
      send();
    });
  });
}

/**
 * The answer at the start of a text, once all of it is there.
 * @param {string} text bytes as Latin-1
 */
function answerIn(text) {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))?.[1];
  if (length === undefined) throw new Error("an answer without a length");
  const end = head + 4 + Number(length);
  return text.length < end ? undefined : { status: Number(text.slice(9, 12)), end };
}
