/**
 * What an agent has before it when it starts on something: the three tiers, what each costs, what the
 * budget left out, and the text as it stands in the prompt.
 */
import { FRAME_VERBS, OBJECT_KINDS, type RemoteCortex } from "@cortex-memory/core/remote";
import { useId } from "react";
import { count, counted } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith, type Params, useRoute } from "../base/route.ts";
import { Answer, MemoryLine, PageHead, PromptText, ShareBar, WaysToAsk } from "../base/ui.tsx";

type Bundle = Awaited<ReturnType<RemoteCortex["context"]>>;
type FrameVerb = keyof typeof FRAME_VERBS;
type ObjectKind = keyof typeof OBJECT_KINDS;

const VERBS = Object.keys(FRAME_VERBS) as readonly FrameVerb[];
const KINDS = Object.keys(OBJECT_KINDS) as readonly ObjectKind[];
const BUDGETS = [200, 500, 1000, 2000, 3000, 4000] as const;

interface Task {
  readonly verb?: FrameVerb;
  readonly objects?: { readonly [kind in ObjectKind]?: string };
  readonly budgetTokens: number;
}

/** The task in an address. */
function taskIn(params: Params): Task {
  const verb = VERBS.find((one) => one === params.verb);
  const kind = KINDS.find((one) => one === params.object) ?? "plan";
  const ref = params.ref?.trim() ?? "";
  const budgetTokens = BUDGETS.find((one) => String(one) === params.budget) ?? 1000;
  return {
    budgetTokens,
    ...(verb === undefined ? {} : { verb }),
    ...(ref === "" ? {} : { objects: { [kind]: ref } }),
  };
}

/** The page. */
export function ContextPage() {
  const { params } = useRoute();
  const task = taskIn(params);
  const found = useRead(["context", task], (memory, past) => memory.context({ ...task, ...past }), {
    keep: true,
  });
  return (
    <>
      <PageHead
        title="Context"
        about="What an agent should have before it when it starts on a task, or on none in particular. Looking changes nothing."
      >
        <WaysToAsk />
      </PageHead>
      <TaskFields task={task} params={params} />
      <Answer of={found} what="the context">
        {(bundle) => (
          <div className="answer">
            <div className="answer-parts">
              <Tiers bundle={bundle} />
              <PromptText text={bundle.text} tokens={bundle.tokens} />
            </div>
          </div>
        )}
      </Answer>
    </>
  );
}

function TaskFields({ task, params }: { readonly task: Task; readonly params: Params }) {
  const id = useId();
  const set = (name: string, value: string) => go(hrefWith({ [name]: value }), { replace: true });
  return (
    <div className="ask-options">
      <label htmlFor={`${id}-verb`}>About to</label>
      <select
        id={`${id}-verb`}
        value={task.verb ?? ""}
        onChange={(event) => set("verb", event.target.value)}
      >
        <option value="">(no task)</option>
        {VERBS.map((verb) => (
          <option key={verb} value={verb} title={FRAME_VERBS[verb].meaning}>
            {verb}
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-object`}>a</label>
      <select
        id={`${id}-object`}
        value={params.object ?? "plan"}
        onChange={(event) => set("object", event.target.value)}
      >
        {KINDS.map((kind) => (
          <option key={kind} value={kind} title={OBJECT_KINDS[kind].meaning}>
            {kind}
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-ref`}>called</label>
      <input
        id={`${id}-ref`}
        type="text"
        value={params.ref ?? ""}
        placeholder="such as kyoto"
        onChange={(event) => set("ref", event.target.value)}
      />
      <label htmlFor={`${id}-budget`}>in</label>
      <select
        id={`${id}-budget`}
        value={task.budgetTokens}
        onChange={(event) => set("budget", event.target.value)}
      >
        {BUDGETS.map((tokens) => (
          <option key={tokens} value={tokens}>
            {count(tokens)} tokens
          </option>
        ))}
      </select>
    </div>
  );
}

const TIERS = [
  { name: "pinned", title: "Always", about: "who it is, hard rules, active goals" },
  { name: "outcomes", title: "How it went before", about: "events filed under the same work" },
  { name: "frameRelevant", title: "For this work", about: "what else is filed under it" },
] as const;

function Tiers({ bundle }: { readonly bundle: Bundle }) {
  const { tokens, budgetTokens, trimmed, reachable, capped } = bundle;
  return (
    <div>
      <div className="budget">
        <ShareBar
          label={`${tokens} of ${budgetTokens} tokens used`}
          parts={[{ name: "used", share: tokens / budgetTokens, title: `${tokens} tokens` }]}
        />
        <span className="number">
          {count(tokens)} of {count(budgetTokens)} tokens
        </span>
      </div>
      {TIERS.map(({ name, title, about }) => (
        <section key={name} className="group">
          <h2>{title}</h2>
          <p className="about">{about}</p>
          {bundle[name].length === 0 && <p className="about">Nothing.</p>}
          {bundle[name].map(({ id, type, text, tokens: cost, score }) => (
            <MemoryLine key={id} id={id} type={type} text={text}>
              <span className="number" title={`It matters ${score.toFixed(2)} of 1`}>
                {counted(cost, "token")}
              </span>
            </MemoryLine>
          ))}
        </section>
      ))}
      {trimmed > 0 && (
        <>
          <p className="budget-line">
            The budget left out {counted(trimmed, "memory", "memories")}, the least important first,
            such as:
          </p>
          <ul className="left-out">
            {reachable.slice(0, LEFT_OUT_SHOWN).map((uri) => (
              <LeftOut key={uri} uri={uri} />
            ))}
          </ul>
        </>
      )}
      {capped.length > 0 && (
        <p className="about">Only the newest were looked at in: {capped.join(", ")}.</p>
      )}
    </div>
  );
}

/** Memories that were left out and are shown; the text is read for each. */
const LEFT_OUT_SHOWN = 20;

function LeftOut({ uri }: { readonly uri: string }) {
  const found = useRead(
    ["get", uri],
    async (memory, past) => (await memory.get(uri, past)) ?? null,
  );
  if (found.data === undefined || found.data === null) return null;
  const { id, type, text } = found.data;
  return (
    <li>
      <MemoryLine id={id} type={type} text={text} />
    </li>
  );
}
