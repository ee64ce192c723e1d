/**
 * "Why not…": takes a memory and says why it is not among the hits of a question, as far as can be found
 * out by asking again: it is not there, not current, left out by a setting, cut by the budget, or outranked.
 */
import { isCortexError, type RemoteCortex } from "@cortex-memory/core/remote";
import { type FormEvent, useState } from "react";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import type { Past } from "../base/studio.tsx";
import { Answer } from "../base/ui.tsx";
import { LANE_NAMES, LANES, lifeWords } from "../base/words.ts";
import type { Settings } from "./ask-options.tsx";

/** As many hits as one call gives, with all the room there is. */
const WIDEST = { limit: 100, budgetTokens: 32_000 };

/** The field and its answer. */
export function WhyNot({
  question,
  settings,
}: {
  readonly question: string;
  readonly settings: Settings;
}) {
  const { params } = useRoute();
  const [typed, setTyped] = useState(params.whynot ?? "");
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    go(hrefWith({ whynot: typed.trim() }), { replace: true });
  };
  return (
    <form className="why-not" onSubmit={onSubmit}>
      <label htmlFor="why-not" title="Says why a memory that you expected is not among these">
        Why not
      </label>
      <input
        id="why-not"
        type="text"
        value={typed}
        placeholder="a memory you expected: its id or name"
        onChange={(event) => setTyped(event.target.value)}
      />
      <button type="submit">Say why</button>
      {params.whynot !== undefined && (
        <Reason question={question} settings={settings} id={params.whynot} />
      )}
    </form>
  );
}

function Reason({
  question,
  settings,
  id,
}: {
  readonly question: string;
  readonly settings: Settings;
  readonly id: string;
}) {
  const reason = useRead(["why-not", question, settings, id], (memory, past) =>
    reasonFor(memory, { question, settings, id, past }),
  );
  return (
    <Answer of={reason} what="why">
      {(text) => <p className="warning">{text}</p>}
    </Answer>
  );
}

interface Sought {
  readonly question: string;
  readonly settings: Settings;
  readonly id: string;
  readonly past: Past;
}

/** The reason, in a sentence. */
async function reasonFor(
  memory: RemoteCortex,
  { question, settings, id, past }: Sought,
): Promise<string> {
  const found = await memory.get(id, past).catch((error: unknown) => {
    if (isCortexError(error, "ERR_ERASED")) return undefined;
    throw error;
  });
  if (found === undefined) return "There is no such memory at this moment, or you may not see it.";
  const { head, type } = found;
  if (settings.types.length > 0 && !settings.types.includes(type)) {
    return `Its type is ${type}, and only ${settings.types.join(", ")} was asked for.`;
  }
  if (head.lifecycle !== "active" && !settings.history) {
    return `It is not current (${lifeWords(head.lifecycle)}). Ask with “what was replaced, too” to see history.`;
  }
  const all = await memory.recall(question, {
    ...WIDEST,
    ...(settings.history ? { history: true } : {}),
    ...past,
  });
  const rank = all.hits.findIndex((hit) => hit.id === found.id);
  const twin = all.hits.find((hit) => hit.duplicates.includes(found.id));
  if (twin !== undefined) return `Another memory says the same and stands for it: “${twin.text}”.`;
  const hit = all.hits[rank];
  if (hit === undefined) {
    return "No lane leads to it: it holds no word of the question, fills no slot that it names, no link leads to it from a hit, and its time is not the one asked for.";
  }
  const lanes = LANE_NAMES.filter((name) => hit.why.lanes[name] !== undefined);
  const off = lanes.filter((name) => settings.offLanes.includes(name));
  if (off.length === lanes.length) {
    return `Only ${off.map((name) => LANES[name].name).join(" and ")} leads to it, and that lane is off.`;
  }
  if (rank < settings.limit) {
    return `It is hit ${rank + 1}. If it is not shown, the budget of ${settings.budgetTokens} tokens was spent before it.`;
  }
  return `It is outranked: hit ${rank + 1}, with a score of ${hit.score.toFixed(2)}, and only ${settings.limit} were asked for.`;
}
