/** A proxy before a Postgres server, which does something to one message of its clients. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** What the proxy does with one message: nothing of it arrives, a half, all but no answer, all but late. */
export const FAULTS = ["dropped", "halved", "unanswered", "late"] as const;
/** Or it arrives where no statement has a name any more, as behind a pooler that changes connections. */
type Fault = (typeof FAULTS)[number] | "nameless";

/** A plain query of the protocol. */
function queryMessage(text: string): Buffer {
  const message = Buffer.alloc(text.length + 6);
  message[0] = 0x51;
  message.writeInt32BE(text.length + 5, 1);
  message.write(text, 5);
  return message;
}

/** What every answer of the server ends with, the state of the transaction aside. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

const SYNC = 0x53;
const QUERY = 0x51;
const PARSE = 0x50;
const BIND = 0x42;

/**
 * What a client says to the server, message by message: the texts of the statements of each. A message ends where its
 * client waits for an answer. A statement that was named is known by its name afterwards.
 */
class MessageReader {
  readonly #tell: (texts: readonly string[]) => void;
  readonly #names = new Map<string, string>();
  #bytes: Buffer = Buffer.alloc(0);
  #texts: string[] = [];
  #isStarted = false;

  constructor(tell: (texts: readonly string[]) => void) {
    this.#tell = tell;
  }

  read(piece: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, piece]);
    for (;;) {
      // The first piece of a connection has no kind before its length.
      const start = this.#isStarted ? 1 : 0;
      if (this.#bytes.length < start + 4) return;
      const length = start + this.#bytes.readInt32BE(start);
      if (this.#bytes.length < length) return;
      if (this.#isStarted) this.#take(this.#bytes.subarray(0, length));
      this.#isStarted = true;
      this.#bytes = this.#bytes.subarray(length);
    }
  }

  #take(piece: Buffer): void {
    const words = piece.toString("latin1", 5).split("\0");
    const [first = "", second = ""] = words;
    if (piece[0] === PARSE) this.#names.set(first, second);
    // A portal has no name here; what it is bound to is behind it.
    if (piece[0] === BIND) this.#texts.push(this.#names.get(second) ?? "");
    if (piece[0] === QUERY) this.#texts.push(first);
    if (piece[0] !== SYNC && piece[0] !== QUERY) return;
    this.#tell(this.#texts);
    this.#texts = [];
  }
}

interface Proxy {
  readonly port: number;
  /** The statements of every message that has come until now, in their order. */
  readonly seen: readonly (readonly string[])[];
  /** Does something to the message that many messages from now. */
  arm(fault: Fault, after: number): void;
  /** Whether the fault has happened. */
  isSpent(): boolean;
  stop(): void;
}

/** Starts one before a server's port. */
export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const seen: (readonly string[])[] = [];
  let armed: { readonly fault: Fault; after: number } | undefined;
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    const cut = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", cut);
      socket.on("close", () => {
        sockets.delete(socket);
        cut();
      });
    }
    const reader = new MessageReader((texts) => seen.push(texts));
    let isSilent = false;
    let held: Buffer | undefined;
    far.on("data", (piece) => {
      if (held !== undefined) {
        // The answer to what the proxy has asked itself.
        if (!piece.subarray(-6, -1).equals(READY)) return;
        far.write(held);
        held = undefined;
      } else if (!isSilent) near.write(piece);
    });
    near.on("data", (piece) => {
      reader.read(piece);
      const fault = armed?.after === 0 ? armed.fault : undefined;
      if (armed !== undefined) armed.after -= 1;
      if (fault === undefined) far.write(piece);
      else if (fault === "dropped") cut();
      else if (fault === "halved") far.write(piece.subarray(0, piece.length >> 1), cut);
      else if (fault === "late") setTimeout(() => far.write(piece), 200);
      else if (fault === "nameless") {
        held = piece;
        far.write(queryMessage("DEALLOCATE ALL"));
      } else {
        isSilent = true;
        far.write(piece, () => setTimeout(cut, 50));
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    seen,
    arm(fault, after) {
      armed = { fault, after };
    },
    isSpent: () => armed !== undefined && armed.after < 0,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
