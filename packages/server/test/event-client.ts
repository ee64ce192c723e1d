/** A client of server-sent events, over Node's own sockets so that a test can leave as it likes. */
import { once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import { expect } from "vitest";

/** One event. */
export interface ServerEvent {
  /** Not a number where the id is none. */
  readonly id: number;
  readonly idText: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client that follows a stream. */
export interface Client {
  /** Events so far; resolves when there are so many. */
  upTo(count: number): Promise<readonly ServerEvent[]>;
  /** Resolves when the server ends the stream. */
  readonly ended: Promise<void>;
  leave(): void;
}

/** Opens a stream and follows it. */
export async function follow(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const request = httpGet(url, { headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  expect(response.headers["content-type"]).toBe("text/event-stream");
  const events: ServerEvent[] = [];
  const waiting = new Set<() => void>();
  let held = "";
  response.setEncoding("utf8");
  response.on("error", () => {});
  response.on("data", (chunk: string) => {
    const parts = (held + chunk).split("\n\n");
    held = parts.pop() ?? "";
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data === undefined) continue;
      const idText = /^id: (.*)$/m.exec(part)?.[1] ?? "";
      const id = idText === "" ? Number.NaN : Number(idText);
      const event = /^event: (.*)$/m.exec(part)?.[1] ?? "";
      events.push({ id, idText, event, data: JSON.parse(data) as Record<string, unknown> });
    }
    for (const wake of [...waiting]) wake();
  });
  return {
    upTo: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (events.length < count) return;
          waiting.delete(look);
          resolve([...events]);
        };
        waiting.add(look);
        look();
      }),
    // A client that leaves gets an error first, which is no news to it.
    ended: new Promise((resolve) => response.once("close", resolve)),
    leave: () => request.destroy(),
  };
}
