/**
 * Ask as an agent asks, and see why: each hit with the share of every lane, the words that matched, the
 * link that led there, what the budget cut, and the text as the agent gets it. Of a memory that did not come,
 * it says why not, as far as can be found out by asking again.
 */
import { isCortexError, type RemoteCortex } from "@cortex-memory/core/remote";
import { type FormEvent, useState } from "react";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import type { Past } from "../base/studio.tsx";
import { Answer, Empty, PageHead, PromptText, WaysToAsk } from "../base/ui.tsx";
import { LANE_NAMES, LANES, lifeWords } from "../base/words.ts";
import { AskOptions, optionsIn, type Settings } from "./ask-options.tsx";
import { Hits } from "./hits.tsx";

/** The page. */
export function AskPage() {
  const { params } = useRoute();
  const question = params.q ?? "";
  return (
    <>
      <PageHead
        title="Ask"
        about="Put a question as an agent would. Asking changes nothing; you see what would stand in its prompt, and why."
      >
        <WaysToAsk />
      </PageHead>
      <QuestionField key={question} question={question} />
      {question === "" ? (
        <Empty title="Nothing is asked yet">
          <p>
            Ask in a whole sentence, as you would ask a person. You get what an agent would be told,
            best first, and for each memory why it came. Such as:
          </p>
          <p className="chips">
            {EXAMPLES.map((example) => (
              <a key={example} className="chip" href={hrefWith({ q: example })}>
                {example}
              </a>
            ))}
          </p>
        </Empty>
      ) : (
        <Asked question={question} />
      )}
    </>
  );
}

/** Questions that nearly every memory has something to say to. */
const EXAMPLES = [
  "Where do I live?",
  "What must an agent never do?",
  "What am I working on?",
  "What is planned for November?",
];

function QuestionField({ question }: { readonly question: string }) {
  const [typed, setTyped] = useState(question);
  const { params } = useRoute();
  const isCompared = params.compare === "1";
  return (
    <form
      className="question"
      onSubmit={(event) => {
        event.preventDefault();
        go(hrefWith({ q: typed.trim() }));
      }}
    >
      <label className="unseen" htmlFor="question">
        Question
      </label>
      <input
        id="question"
        type="text"
        value={typed}
        placeholder="What would the agent ask?"
        autoComplete="off"
        onChange={(event) => setTyped(event.target.value)}
      />
      <button type="submit" className="primary">
        Ask
      </button>
      {question !== "" && (
        <a className="button" href={hrefWith({ compare: isCompared ? undefined : "1" })}>
          {isCompared ? "Show one setting" : "Compare two settings"}
        </a>
      )}
    </form>
  );
}

function Asked({ question }: { readonly question: string }) {
  const { params } = useRoute();
  const isCompared = params.compare === "1";
  return (
    <div className={isCompared ? "compared" : ""}>
      <OneAnswer question={question} prefix="" />
      {isCompared && <OneAnswer question={question} prefix="b." />}
    </div>
  );
}

/** One answer under the settings whose parameters begin with `prefix`. */
function OneAnswer({ question, prefix }: { readonly question: string; readonly prefix: string }) {
  const { params } = useRoute();
  const settings: Settings = optionsIn(params, prefix);
  const { budgetTokens, limit, form, types, history, offLanes } = settings;
  const found = useRead(
    ["recall", question, settings],
    (memory, past) =>
      memory.recall(question, {
        budgetTokens,
        limit,
        form,
        ...(types.length === 0 ? {} : { types }),
        ...(history ? { history } : {}),
        ...(offLanes.length === 0
          ? {}
          : { lanes: LANE_NAMES.filter((name) => !offLanes.includes(name)) }),
        ...past,
      }),
    { keep: true },
  );
  return (
    <section
      className="answer"
      aria-label={prefix === "" ? "Answer" : "Answer with the second setting"}
    >
      <AskOptions settings={settings} prefix={prefix} />
      <Answer of={found} what="what answers it">
        {(result) => (
          <div className="answer-parts">
            <div>
              <Hits question={question} result={result} budgetTokens={budgetTokens} />
              {prefix === "" && <WhyNot question={question} settings={settings} />}
            </div>
            <PromptText text={result.text} tokens={result.tokens} />
          </div>
        )}
      </Answer>
    </section>
  );
}

/** As many hits as one call gives, with all the room there is. */
const WIDEST = { limit: 100, budgetTokens: 32_000 };

/** The field and its answer. */
function WhyNot({
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
