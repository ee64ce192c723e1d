/**
 * Ask as an agent asks, and see why: each hit with the share of every lane, the words that matched, the
 * link that led there, what the budget cut, and the text as the agent gets it.
 */
import { useState } from "react";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { Answer, Empty, PageHead, PromptText, WaysToAsk } from "../base/ui.tsx";
import { LANE_NAMES } from "../base/words.ts";
import { AskOptions, optionsIn, type Settings } from "./ask-options.tsx";
import { Hits } from "./hits.tsx";
import { WhyNot } from "./why-not.tsx";

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
