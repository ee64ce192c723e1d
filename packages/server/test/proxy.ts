/**
 * A real proxy in front of a server of a test: it hands requests on, and can be told to send them to
 * another server, to refuse some, to hold answers back, to change bodies and to cut connections.
 */
import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** What becomes of one request: handed on, unless something is said. */
export type Treatment =
  /** Answered with a status, by something that is not Cortex. */
  | { readonly status: number; readonly headers?: Record<string, string> }
  /** The connection is cut before anything is answered. */
  | "cut"
  /** Handed on, and cut instead of answered. */
  | "cutAnswer"
  /** Never answered. */
  | "hold"
  /** Handed on with another body. */
  | { readonly body: string }
  /** Handed on, and of the answer's body only so many bytes. */
  | { readonly bytes: number };

/** A request as the proxy saw it. */
export interface Passed {
  readonly path: string;
  readonly body: string;
}

/** A proxy of a test. */
export interface TestProxy {
  readonly url: string;
  /** Requests so far. */
  readonly passed: readonly Passed[];
  /** Where requests go from now on. */
  aim(url: string): void;
  /** Says what becomes of requests from now on. */
  treat(how: (request: Passed) => Treatment | undefined): void;
  /** Cuts every connection there is. */
  cutAll(): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a server. */
export async function startProxy(target: string): Promise<TestProxy> {
  let aimed = target;
  let treatment: (request: Passed) => Treatment | undefined = () => undefined;
  const passed: Passed[] = [];
  const server = createServer((incoming, outgoing) => {
    outgoing.on("error", () => {});
    void readText(incoming).then((body) => {
      const one = { path: incoming.url ?? "", body };
      passed.push(one);
      const how = treatment(one);
      if (how === "hold") return;
      if (how === "cut") {
        outgoing.destroy();
      } else if (typeof how === "object" && "status" in how) {
        outgoing.writeHead(how.status, how.headers).end("not Cortex");
      } else {
        handOn(aimed, incoming, outgoing, {
          body: typeof how === "object" && "body" in how ? how.body : body,
          isCut: how === "cutAnswer",
          ...(typeof how === "object" && "bytes" in how ? { bytes: how.bytes } : {}),
        });
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    aim: (url) => {
      aimed = url;
    },
    treat: (how) => {
      treatment = how;
    },
    cutAll: () => server.closeAllConnections(),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}

interface HandedOn {
  readonly body: string;
  readonly isCut: boolean;
  readonly bytes?: number;
}

function handOn(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { body, isCut, bytes }: HandedOn,
): void {
  const { host: _, "content-length": __, ...headers } = incoming.headers;
  const length = Buffer.byteLength(body);
  const forwarded = httpRequest(new URL(incoming.url ?? "", target), {
    method: incoming.method,
    agent: false,
    headers: { ...headers, ...(length === 0 ? {} : { "content-length": String(length) }) },
  });
  forwarded.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forwarded.destroy());
  forwarded.on("response", (answer) => {
    if (isCut) {
      outgoing.destroy();
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.on("error", () => outgoing.destroy());
    if (bytes === undefined) answer.pipe(outgoing);
    else void sendStart(answer, outgoing, bytes);
  });
  forwarded.end(body);
}

async function sendStart(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  bytes: number,
): Promise<void> {
  let left = bytes;
  for await (const chunk of answer) {
    outgoing.write((chunk as Uint8Array).subarray(0, left));
    left = Math.max(0, left - (chunk as Uint8Array).length);
  }
  outgoing.end();
}
