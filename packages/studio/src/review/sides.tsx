/**
 * What stands against what: each side with its words, who said them, when, how sure they are, and what
 * somebody asks for. A click marks the side that a decision would keep.
 */
import type { ReactNode } from "react";
import { exact, Time } from "../base/format.tsx";
import type { WaitingItem } from "../base/reads.ts";
import { hrefWith } from "../base/route.ts";
import { Difference, TypeMark } from "../base/ui.tsx";
import { howSure, whoSaid } from "../base/words.ts";
import { type Side, wishFields, wishWords } from "./review-words.ts";

/** Texts longer than this are cut; the panel has all of them. */
const SHOWN_CHARS = 1200;

/** The sides of an item. */
export function Sides({
  item,
  marked,
  onMark,
}: {
  readonly item: WaitingItem;
  readonly marked: number;
  readonly onMark: (at: number) => void;
}) {
  if (item.proposal !== undefined) return <Wish item={item} proposal={item.proposal} />;
  const isChoice = item.sides.length > 1;
  return (
    <fieldset className="sides" aria-label="Sides">
      {item.sides.map((side, at) => (
        <div key={side.uri} className={isChoice && at === marked ? "side is-marked" : "side"}>
          {isChoice && (
            <label className="side-mark">
              <input
                type="radio"
                name={`side-${item.id}`}
                checked={at === marked}
                onChange={() => onMark(at)}
              />
              {sideName(item, at)}
            </label>
          )}
          <SideView side={side} />
        </div>
      ))}
    </fieldset>
  );
}

/** What a side is in this question. */
function sideName({ kind, sides }: WaitingItem, at: number): string {
  if (kind === "rival") return at === 0 ? "What is said against it" : "What holds today";
  if (kind === "siblings") return `Version ${sides[at]?.version ?? at + 1}`;
  return at === 0 ? "The first" : "The second";
}

function SideView({ side }: { readonly side: Side }) {
  const { text, status, source, createdAt, createdBy, since, flags = [] } = side;
  const sure = howSure(status);
  return (
    <>
      {flags.length > 0 && <Suspicious flags={flags} />}
      <p className="side-text" dir="auto">
        {text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text}
      </p>
      <dl className="facts">
        <Fact name="Source">
          {whoSaid(source)}
          {sure !== "" && <span className={`status-${status}`}>, {sure}</span>}
        </Fact>
        <Fact name="Written">
          <Time ms={createdAt} /> by {createdBy}
        </Fact>
        {since !== createdAt && (
          <Fact name="True since">
            <Time ms={since} />
          </Fact>
        )}
        {side.slot !== undefined && <Fact name="Slot">{side.slot}</Fact>}
        <Fact name="Type">
          <TypeMark type={side.type} named />
        </Fact>
      </dl>
      <a href={hrefWith({ m: side.id })}>All about it</a>
    </>
  );
}

/** A change that somebody asks for: what they want, and the memory as it is. */
function Wish({
  item,
  proposal,
}: {
  readonly item: WaitingItem;
  readonly proposal: NonNullable<WaitingItem["proposal"]>;
}) {
  const { verb, input, by, source, at, flags = [] } = proposal;
  const [side] = item.sides;
  const next = typeof input.text === "string" ? input.text : undefined;
  return (
    <div className="sides">
      <div className="side is-marked">
        <p className="side-mark">What is asked for</p>
        {flags.length > 0 && <Suspicious flags={flags} />}
        <p>
          <strong>{by}</strong> {wishWords(verb)}.
        </p>
        {next !== undefined && side !== undefined && <Difference before={side.text} after={next} />}
        <dl className="facts">
          {wishFields(input).map(([name, value]) => (
            <Fact key={name} name={name}>
              <span dir="auto">{value}</span>
            </Fact>
          ))}
          <Fact name="Source">{whoSaid(source)}</Fact>
          <Fact name="Asked">
            <span title={exact(at)}>
              <Time ms={at} />
            </span>
          </Fact>
        </dl>
      </div>
      {side !== undefined && (
        <div className="side">
          <p className="side-mark">The memory as it is</p>
          <SideView side={side} />
        </div>
      )}
    </div>
  );
}

function Suspicious({ flags }: { readonly flags: readonly string[] }) {
  return (
    <p className="warning">
      This text looks as if it wanted to give orders to an agent ({flags.join(", ")}).
    </p>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
