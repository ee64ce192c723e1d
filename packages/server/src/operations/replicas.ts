/**
 * Operations on replicas: following a server into a store of this machine, and making such a store one
 * of its own. Every check is core's; where the token comes from is the door's affair.
 */

import { follow, promote, type RemoteLocation } from "@cortex-memory/core";
import * as z from "zod";
import { showFollowed, showPromoted } from "../render/store.js";
import { defineOperation, defineStream } from "./define.js";

const ON_THE_MACHINE = "it writes a store of the server's machine; run the command there";

/** What is told while a source is followed. */
export const followedShape = z.object({
  state: z.enum(["level", "trouble"]),
  seq: z.int(),
  root: z.string().exactOptional(),
  entries: z.int().exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  retryMs: z.int().exactOptional(),
});

/** What promoting a replica did. */
export const promotedShape = z.object({
  source: z.string(),
  seq: z.int(),
  root: z.string(),
  epoch: z.int(),
  warning: z.string().exactOptional(),
});

/** The operations on replicas. */
export const REPLICA_OPERATIONS = [
  defineStream({
    name: "follow",
    verbs: [],
    place: "follow",
    kind: "write",
    summary: "Keep a read-only replica of the store of a running server",
    help: `The replica is the store at --data, which must not be there yet or be a replica; the actor is the same on
both sides, and the token of the server is in CORTEX_TOKEN. Every header, part and root is checked before it is kept;
what was forgotten there is erased here; another history is refused. A server that goes away is tried again. Ends when
it is interrupted, with 0, or with --once as soon as both are level.`,
    example: "cortex follow https://memory.example.org --data ./replica",
    input: z.strictObject({
      source: z.string().describe("the address of the server"),
      once: z
        .boolean()
        .describe("end as soon as the replica is level; try nothing again")
        .exactOptional(),
      plainHttp: z
        .boolean()
        .describe("allow http: to another machine, where whoever listens reads everything")
        .exactOptional(),
    }),
    output: followedShape,
    stream: (
      _memory,
      { source, ...options },
      { location, actor, onProgress, signal, serverToken },
    ) => {
      const token = serverToken?.();
      return follow(location, source as RemoteLocation, {
        ...options,
        actor,
        onProgress,
        signal,
        ...(token === undefined ? {} : { token }),
      });
    },
    cli: {
      command: "follow",
      group: "store",
      store: "fresh",
      arguments: [{ field: "source", label: "URL" }],
      human: showFollowed,
    },
    http: { unavailable: ON_THE_MACHINE },
  }),
  defineOperation({
    name: "promote",
    verbs: [],
    place: "promote",
    kind: "write",
    summary: "Make a replica a store of its own, which takes writes",
    help: `It follows nobody from then on and counts under the next epoch, because its history may go another way than
that of its source. Stop cortex follow first, or it ends by itself. What the source had and the replica had not is lost,
and a warning says how much that was when the source was last heard.`,
    example: "cortex promote --data ./replica",
    input: z.strictObject({}),
    output: promotedShape,
    call: (_memory, _input, { location, actor }) => promote(location, { actor }),
    cli: { command: "promote", group: "store", store: "closed", human: showPromoted },
    http: { unavailable: ON_THE_MACHINE },
  }),
];
