/**
 * From what the server sends to what the verb answers, for the few verbs whose operation says more or
 * says it otherwise; and from the code of a failure to one that is known here.
 */
import type { Answer, VerbName } from "../contract/index.js";
import { CortexError, ERROR_CODES, type ErrorCode, type ErrorDetails } from "../errors.js";
import type { Body } from "./body.js";

const ANSWERS: { readonly [V in VerbName]?: (sent: Body) => Answer<V> } = {
  batch: batchAnswer,
  configure: ({ graph, seq }) => ({ ...(graph as object), seq }) as Answer<"configure">,
  // Where the store is on the server's machine is the operation's to say, not the verb's.
  stats: ({ data: _, ...stats }) => stats as unknown as Answer<"stats">,
};

/** The answer of a verb; `member` names the part of what was sent that is all of it. */
export function answerOf(verb: VerbName, member: string | undefined, sent: Body): unknown {
  if (member !== undefined) return sent[member];
  const made = ANSWERS[verb];
  return made === undefined ? sent : made(sent);
}

interface FailedItem {
  readonly ok: false;
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details?: ErrorDetails;
  };
}

/** Failed items hold errors again, as they do where the store is at hand. */
function batchAnswer({ results, seq }: Body): Answer<"batch"> {
  const items = results as readonly ({ readonly ok: true } | FailedItem)[];
  return {
    seq,
    results: items.map((item) => {
      if (item.ok) return item;
      const { code, message, details } = item.error;
      return { ok: false, error: new CortexError(knownCode(code), message, details) };
    }),
  } as Answer<"batch">;
}

/** A code of the list; a newer server may have others, which say that something is not known here. */
export function knownCode(code: unknown): ErrorCode {
  return isKnownCode(code) ? code : "ERR_UNSUPPORTED";
}

/** Whether a code is one of the list. */
export function isKnownCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}
