/**
 * What was recalled, best first: the memory with the words that matched, a bar of the lanes' shares, the
 * link that led there, and where the budget ended.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { Fragment } from "react";
import { count, counted, oneLine, percent } from "../base/format.tsx";
import { marksIn } from "../base/pieces.ts";
import { hrefWith } from "../base/route.ts";
import { Empty, MemoryName, ShareBar, TypeMark } from "../base/ui.tsx";
import { LANE_NAMES, LANES, spaced } from "../base/words.ts";

/** What `recall` answers. */
export type Recalled = Awaited<ReturnType<RemoteCortex["recall"]>>;
type Hit = Recalled["hits"][number];

/** Letters of a hit; its panel and the prompt beside it have all of them. */
const TEXT_SHOWN = 400;

/** The list, and what it adds up to. */
export function Hits({
  question,
  result,
  budgetTokens,
}: {
  readonly question: string;
  readonly result: Recalled;
  readonly budgetTokens: number;
}) {
  const { hits, weak, trimmed, tokens, leftOut } = result;
  const texts = new Map(hits.map((hit) => [hit.id as string, hit.text]));
  return (
    <div className="hits">
      <BudgetBar tokens={tokens} budgetTokens={budgetTokens} trimmed={trimmed} />
      {weak && (
        <p className="warning">
          Nothing here is a confident answer: too few words of the question are covered. An agent
          should say that it does not know.
        </p>
      )}
      {leftOut.length > 0 && (
        <p className="about">Left out, since they know only the present: {leftOut.join(", ")}.</p>
      )}
      {hits.length === 0 ? (
        <Empty title="Nothing answers this">
          <p>No memory holds a word of the question, and no link or time leads to one.</p>
        </Empty>
      ) : (
        <>
          <HowToRead found={hits.length} />
          <ol className="hit-list">
            {hits.map((hit) => (
              <HitView key={hit.uri} hit={hit} question={question} texts={texts} />
            ))}
          </ol>
        </>
      )}
      {trimmed > 0 && (
        <p className="budget-line">
          Below this line the budget was spent: {counted(trimmed, "more hit")} did not fit.
        </p>
      )}
    </div>
  );
}

/** What the numbers of a hit say. */
function HowToRead({ found }: { readonly found: number }) {
  return (
    <details className="reading">
      <summary>
        <span>{counted(found, "memory", "memories")}, best first. How to read this</span>
        <span aria-hidden="true">score</span>
      </summary>
      <dl className="facts">
        {LANE_NAMES.map((name) => (
          <div key={name} className="fact">
            <dt>
              <span className={`lane-dot share-${name}`} aria-hidden="true" />
              {LANES[name].name}
            </dt>
            <dd>{LANES[name].about}</dd>
          </div>
        ))}
        <dt>trust</dt>
        <dd>How far its source is believed: 1 is the owner's own word.</dd>
        <dt>covers</dt>
        <dd>The share of the question's words that it and its neighbours hold.</dd>
        <dt>tokens</dt>
        <dd>The room it takes in the prompt.</dd>
        <dt>score</dt>
        <dd>All of the above together; the list is ordered by it.</dd>
      </dl>
    </details>
  );
}

function BudgetBar({
  tokens,
  budgetTokens,
  trimmed,
}: {
  readonly tokens: number;
  readonly budgetTokens: number;
  readonly trimmed: number;
}) {
  return (
    <div className="budget">
      <ShareBar
        label={`${tokens} of ${budgetTokens} tokens used`}
        parts={[{ name: "used", share: tokens / budgetTokens, title: `${tokens} tokens` }]}
      />
      <span className="number">
        {count(tokens)} of {count(budgetTokens)} tokens
        {trimmed > 0 && `, ${count(trimmed)} cut`}
      </span>
    </div>
  );
}

interface HitProps {
  readonly hit: Hit;
  readonly question: string;
  readonly texts: ReadonlyMap<string, string>;
}

function HitView({ hit, question, texts }: HitProps) {
  const { why } = hit;
  const lanes = LANE_NAMES.map((name) => ({ name, value: why.lanes[name] ?? 0 })).filter(
    ({ value }) => value > 0,
  );
  const sum = lanes.reduce((all, { value }) => all + value, 0);
  const said = lanes
    .map(({ name, value }) => `${LANES[name].name} ${percent(value / sum)}`)
    .join(", ");
  return (
    <li className="hit">
      <div className="hit-head">
        <TypeMark type={hit.type} />
        <a href={hrefWith({ m: hit.id })} className="hit-text" dir="auto">
          <Marked text={oneLine(hit.text, TEXT_SHOWN)} question={question} />
        </a>
        <span
          className="number hit-score"
          title="its score: the lanes together, times trust and salience"
        >
          {hit.score.toFixed(2)}
        </span>
      </div>
      <div className="hit-why">
        {sum > 0 && (
          <ShareBar
            label={`Why: ${said}`}
            parts={lanes.map(({ name, value }) => ({
              name,
              share: value / sum,
              title: `${LANES[name].name} ${value.toFixed(2)}: ${LANES[name].about}`,
            }))}
          />
        )}
        <span className="hit-lanes">
          {lanes.map(({ name, value }) => (
            <span key={name} title={LANES[name].about}>
              <span className={`lane-dot share-${name}`} aria-hidden="true" />
              {LANES[name].name} {value.toFixed(2)}
            </span>
          ))}
          <span title="how far its source is believed">trust {why.trust.toFixed(2)}</span>
          <span title="share of the question's words that it and its neighbours hold">
            covers {percent(why.coverage)}
          </span>
          <span>{counted(hit.tokens, "token")}</span>
        </span>
      </div>
      {why.via !== undefined && (why.lanes.graph ?? 0) > 0 && (
        <p className="hit-via">
          <MemoryName id={why.via.from} {...textOf(texts.get(why.via.from))} /> →{" "}
          {spaced(why.via.kind)} → this
        </p>
      )}
      {hit.duplicates.length > 0 && (
        <p className="about">
          {counted(hit.duplicates.length, "other memory", "other memories")} say the same.
        </p>
      )}
    </li>
  );
}

/** A text that is known already; what is no hit itself is read by its name. */
function textOf(text: string | undefined): { readonly text?: string } {
  return text === undefined ? {} : { text };
}

/** A text with the words of the question marked. */
function Marked({ text, question }: { readonly text: string; readonly question: string }) {
  return marksIn(text, question).map(({ text: piece, isMatch }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
    <Fragment key={at}>{isMatch ? <mark>{piece}</mark> : piece}</Fragment>
  ));
}
