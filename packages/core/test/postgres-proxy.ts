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

interface Proxy {
  readonly port: number;
  /** Does something to the message that many messages from now. */
  arm(fault: Fault, after: number): void;
  /** Whether the fault has happened. */
  isSpent(): boolean;
  stop(): void;
}

/** Starts one before a server's port. */
export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
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
