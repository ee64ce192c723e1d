/**
 * The renderings of a memory: `short` and `medium`, stored with each version, and `full`, made on
 * demand and embedded.
 *
 * Promise: plain true English sentences, the same bytes for the same data: no clock, no locale. A
 * memory's own sentence is used as it stands; only where it would say something else without them
 * are words put around it (a doubted sentence is not asserted, an abandoned goal is not pursued).
 * Forms are stored, so a better template changes later versions only and never an old root.
 *
 * Left to others: fences, dates and ids around a form in a prompt (`recall/`), storing
 * (`memory-record.ts`).
 */
import { stableText } from "../codec/cbor-value.js";
import { cutToBytes, utf8Length } from "../codec/text.js";
import { unreachable } from "../errors.js";
import { LIMITS } from "../limits.js";
import type {
  ArtifactData,
  CapabilityData,
  ConstraintData,
  Data,
  EventData,
  FactData,
  GoalData,
  IdentityData,
  NoteData,
  PreferenceData,
  TurnData,
  TypedData,
} from "./data.js";
import type { Json } from "./fields.js";
import type { EventKind, MemoryType, Outcome, Polarity, Stance } from "./types.js";

/** Tokens of a text: a quarter of its UTF-8 bytes, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(utf8Length(text) / LIMITS.bytesPerToken);
}

/**
 * `text` if it fits `maxTokens`, else the longest start of it that fits together with "…". Records
 * leave out a form that this cut of their sentence gives back, so the rule is part of the format.
 */
export function truncateToTokens(text: string, maxTokens: number): string {
  return maxTokens <= 0 ? "" : cutToBytes(text, maxTokens * LIMITS.bytesPerToken);
}

/** The two stored renderings, each within its budget. */
export function renderForms(
  type: MemoryType,
  data: Data,
): { readonly short: string; readonly medium: string } {
  const { head, more } = sayAll({ type, data } as TypedData);
  return {
    short: truncateToTokens(head, LIMITS.formShortTokens),
    medium: truncateToTokens(paragraph(head, more), LIMITS.formMediumTokens),
  };
}

/** The medium rendering without a budget. */
export function renderFull(type: MemoryType, data: Data): string {
  const { head, more } = sayAll({ type, data } as TypedData);
  return paragraph(head, more);
}

/** What a memory says in one sentence, and the sentences that add to it. */
interface Sentences {
  readonly head: string;
  readonly more: readonly (string | undefined)[];
}

function sayAll(typed: TypedData): Sentences {
  switch (typed.type) {
    case "identity":
      return sayIdentity(typed.data);
    case "fact":
      return sayFact(typed.data);
    case "preference":
      return sayPreference(typed.data);
    case "belief": {
      const { stance, statement, evidenceFor = [], evidenceAgainst = [] } = typed.data;
      return {
        head: `${STANCE_WORDS[stance]} ${midSentence(statement)}`,
        more: [listed("Evidence for", evidenceFor), listed("Evidence against", evidenceAgainst)],
      };
    }
    case "event":
      return sayEvent(typed.data);
    case "goal":
      return sayGoal(typed.data);
    case "constraint":
      return sayConstraint(typed.data);
    case "capability":
      return sayCapability(typed.data);
    case "pattern": {
      const { statement, strength, coverage, derivedFrom = [] } = typed.data;
      return {
        head: statement,
        more: [
          strength === undefined ? undefined : `Strength ${decimal(strength)} of 1.`,
          coverage === undefined ? undefined : `Seen ${counted(coverage, "time")}.`,
          listed("Derived from", derivedFrom),
        ],
      };
    }
    case "note":
      return "role" in typed.data ? sayTurn(typed.data) : sayNote(typed.data);
    case "artifact":
      return sayArtifact(typed.data);
    default:
      return unreachable(typed);
  }
}

const STANCE_WORDS: { readonly [S in Stance]: string } = {
  believe: "believes that",
  doubt: "doubts that",
  suspect: "suspects that",
};

function sayIdentity(data: IdentityData): Sentences {
  const { name, did, agentName, roles = [], expertiseDomains = [], wallets = [] } = data;
  const { publicKeys = [] } = data;
  const known = did === undefined ? undefined : `known as ${did}`;
  const unsaid =
    name === undefined || (data.statement !== undefined && holds(data.statement, name));
  const named = unsaid ? known : `is called ${name}${known === undefined ? "" : `, ${known}`}`;
  return {
    head: data.statement ?? named ?? "",
    more: [
      data.statement === undefined || named === undefined ? undefined : sentence(capital(named)),
      agentName === undefined ? undefined : `The agent is called ${agentName}.`,
      listed("Roles", roles),
      listed("Knows about", expertiseDomains),
      wallets.length === 0 ? undefined : `Has ${counted(wallets.length, "wallet")}.`,
      publicKeys.length === 0 ? undefined : `Has ${counted(publicKeys.length, "public key")}.`,
    ],
  };
}

function sayFact(data: FactData): Sentences {
  const { statement, subject, predicate, object, source, asOf } = data;
  let claim: string | undefined;
  if (predicate !== undefined && object !== undefined) claim = sayClaim(subject, predicate, object);
  const adds = claim !== undefined && statement !== undefined && !holds(statement, shown(object));
  return {
    head: statement ?? claim ?? subject,
    more: [
      adds ? sentence(claim ?? "") : undefined,
      asOf === undefined ? undefined : `As of ${dateText(asOf)}.`,
      source === undefined ? undefined : `Source: ${sentence(ref(source))}`,
    ],
  };
}

/** Predicates are identifiers, so whether one is a verb or a noun must be read off its spelling. */
const VERBAL = /^(?:is|are|was|were|has|have|had|does|do|can|may|must|will|.*[^aius]s|.*ed)$/;
const PREPOSITION = /(?: (?:as|at|by|for|from|in|of|on|to|with))$/;

function sayClaim(subject: string, predicate: string, object: Json): string {
  const words = predicate
    .replace(
      /([a-z0-9])([A-Z])/g,
      (_, end: string, start: string) => `${end} ${start.toLowerCase()}`,
    )
    .replace(/[_-]+/g, " ")
    .trim();
  const [first = ""] = words.split(" ");
  const value = shown(object);
  if (VERBAL.test(first)) return `${subject} ${words} ${value}`;
  if (PREPOSITION.test(words)) return `${subject} is ${words} ${value}`;
  return `${subject}'s ${words} is ${value}`;
}

const PREFERENCE_WORDS: { readonly [P in Polarity]: string } = {
  prefer: "prefers",
  avoid: "avoids",
  neutral: "has no preference about",
  do: "wants",
  dont: "does not want",
};

function sayPreference(data: PreferenceData): Sentences {
  const { statement, topic, polarity, value, strength, rationale } = data;
  let claim: string | undefined;
  if (topic !== undefined) {
    const verb = polarity === undefined ? "has a preference about" : PREFERENCE_WORDS[polarity];
    // `true` only repeats that the polarity holds.
    const detail = value === undefined || value === true ? "" : `: ${shown(value)}`;
    claim = `${verb} ${topic}${detail}`;
  }
  const adds = claim !== undefined && statement !== undefined && !holds(statement, claim);
  return {
    head: statement ?? claim ?? "",
    more: [
      adds ? sentence(capital(claim ?? "")) : undefined,
      strength === undefined ? undefined : `Strength ${decimal(strength)} of 1.`,
      rationale === undefined ? undefined : `Because: ${sentence(rationale)}`,
    ],
  };
}

const EVENT_NOUNS: { readonly [K in EventKind]: string } = {
  intent_completed: "An intent",
  intent_failed: "An intent",
  payment: "A payment",
  dispatch: "A dispatch",
  observation: "An observation",
  interaction: "An interaction",
};

const OUTCOME_WORDS: { readonly [O in Outcome]: string } = {
  success: "succeeded",
  failure: "failed",
  partial: "succeeded in part",
};

function sayEvent(data: EventData): Sentences {
  const {
    statement,
    summary,
    kind,
    outcome,
    counterparty,
    cost,
    durationMs,
    artifacts = [],
  } = data;
  const own = statement ?? summary;
  const party = counterparty === undefined ? "" : ` with ${counterparty}`;
  const price = cost === undefined ? "" : `, at a cost of ${cost.amount} ${cost.asset}`;
  const happened = `${EVENT_NOUNS[kind]}${party} ${eventVerb(kind, outcome)}${price}`;
  // The default kind says nothing by itself; everything else is worth a sentence.
  const plain = kind === "observation" && outcome === undefined && party === "" && price === "";
  return {
    head: own ?? happened,
    more: [
      own === undefined || plain ? undefined : sentence(happened),
      statement === undefined || summary === undefined ? undefined : sentence(summary),
      durationMs === undefined ? undefined : `It took ${durationText(durationMs)}.`,
      data.intentRef === undefined ? undefined : `Intent: ${sentence(ref(data.intentRef))}`,
      listed("Artifacts", artifacts),
    ],
  };
}

function eventVerb(kind: EventKind, outcome: Outcome | undefined): string {
  const usual = kind === "intent_completed" ? "success" : "failure";
  switch (kind) {
    case "intent_completed":
    case "intent_failed": {
      const verb = kind === "intent_completed" ? "was completed" : "failed";
      if (outcome === undefined || outcome === usual) return verb;
      return outcome === "partial" ? `${verb} in part` : `${verb} (outcome: ${outcome})`;
    }
    default:
      return outcome === undefined ? "took place" : OUTCOME_WORDS[outcome];
  }
}

function sayGoal(data: GoalData): Sentences {
  const { objects = [], constraints = [], budget = {}, successCriteria = [], subgoals = [] } = data;
  const { dailyMax, totalMax, maxIntentsPerDay, maxConcurrent } = budget;
  const limits = [
    dailyMax === undefined ? undefined : `${dailyMax} per day`,
    totalMax === undefined ? undefined : `${totalMax} in all`,
    maxIntentsPerDay === undefined ? undefined : `${counted(maxIntentsPerDay, "intent")} per day`,
    maxConcurrent === undefined ? undefined : `${maxConcurrent} at a time`,
  ].filter((limit) => limit !== undefined);
  const rules = constraints.map((c) => `${c.statement} (${c.hard ? "hard" : "soft"}, ${c.type})`);
  return {
    head: `Goal (${data.status}): ${data.statement}`,
    more: [
      data.horizonEnd === undefined ? undefined : `Due ${dateText(data.horizonEnd)}.`,
      listed("Done when", successCriteria),
      listed("Subgoals", subgoals),
      data.verbHint === undefined ? undefined : `Kind of work: ${data.verbHint}.`,
      listed(
        "About",
        objects.map(
          (o) => `${o.kind} ${o.ref}${o.value === undefined ? "" : ` = ${shown(o.value)}`}`,
        ),
      ),
      listed("Rules", rules),
      listed("Limits", limits),
      data.persistent === true ? "A lasting goal." : undefined,
      data.createdBy === undefined ? undefined : `Set by ${sentence(ref(data.createdBy))}`,
    ],
  };
}

const STRENGTH_WORDS = { soft: "A wish", firm: "A firm rule", hard: "A hard rule" } as const;
const SOURCE_WORDS = {
  user_declared: "declared by the user",
  learned: "learned from outcomes",
  inferred: "inferred from other memories",
} as const;

function sayConstraint(data: ConstraintData): Sentences {
  const { strength, source, trigger } = data;
  // The defaults go without saying: a plain rule is its sentence and no more.
  const usual = strength === "hard" && source === "user_declared";
  return {
    head: sayRule(data),
    more: [
      trigger === undefined ? undefined : `Applies when: ${sentence(trigger)}`,
      usual ? undefined : `${STRENGTH_WORDS[strength]}, ${SOURCE_WORDS[source]}.`,
    ],
  };
}

const MODALS = {
  hard: { do: "must", dont: "must not" },
  firm: { do: "should", dont: "should not" },
  soft: { do: "should, if possible,", dont: "should, if possible, not" },
} as const;

/**
 * A sentence that forbids by itself; turning it round again would say the opposite. Only its
 * opening and the modal verbs of rules count: "book flights that never stop" forbids nothing.
 */
const FORBIDS =
  /^(?:no|not|never|avoid|don['’]?t|do not)\b|\b(?:must|should|may|shall) not\b|\b(?:must|should)n['’]t\b/i;

function sayRule(data: ConstraintData): string {
  const { statement, polarity, strength } = data;
  // A phrase ("book red-eyes") takes a verb before it; a sentence of its own stays whole.
  const phrase = /^[a-z]/.test(statement);
  const around = (words: string) => `${phrase ? words : `${capital(words)}:`} ${statement}`;
  switch (polarity) {
    case "dont":
      return FORBIDS.test(statement) ? statement : around(MODALS[strength].dont);
    case "avoid":
      return FORBIDS.test(statement) ? statement : `Avoid: ${statement}`;
    case "do":
      return phrase && !FORBIDS.test(statement) ? around(MODALS[strength].do) : statement;
    case "prefer":
      return FORBIDS.test(statement) ? statement : around("preferably");
    case "neutral":
    case undefined:
      return statement;
    default:
      return unreachable(polarity);
  }
}

function sayCapability(data: CapabilityData): Sentences {
  const { statement, subject, capability, verified, lastObserved, parameters } = data;
  const claim = capability === undefined ? undefined : `${subject} can ${capability}`;
  const adds =
    claim !== undefined && statement !== undefined && !holds(statement, capability ?? "");
  return {
    head: statement ?? claim ?? subject,
    more: [
      adds ? sentence(claim ?? "") : undefined,
      verified === undefined ? undefined : verified ? "Verified." : "Not verified.",
      lastObserved === undefined ? undefined : `Last observed ${dateText(lastObserved)}.`,
      parameters === undefined ? undefined : `Parameters: ${sentence(shown(parameters))}`,
    ],
  };
}

function sayNote(data: NoteData): Sentences {
  const { summary = "", content } = data;
  if (summary === "" || content === "")
    return { head: summary === "" ? content : summary, more: [] };
  return { head: summary, more: [content] };
}

/**
 * A turn is its content, verbatim; who spoke is said only where a name is known, since it is the
 * name that people ask for. Role and time stay in the data, and whoever shows a turn shows them.
 */
function sayTurn(data: TurnData): Sentences {
  const { role, speaker, toolName, content } = data;
  const tool = toolName === undefined ? undefined : `${role.replace("_", " ")} ${toolName}`;
  const who = [speaker, tool].filter((part) => part !== undefined).join(", ");
  return { head: who === "" ? content : `${who}: ${content}`, more: [] };
}

function sayArtifact(data: ArtifactData): Sentences {
  const { uri, title, mediaType, digest, sizeBytes, description = "" } = data;
  const place = uri === undefined || title === undefined ? "" : ` at ${ref(uri)}`;
  return {
    head: `${title ?? uri ?? ""}${place}`,
    more: [
      description === "" ? undefined : sentence(description),
      mediaType === undefined ? undefined : `Media type ${mediaType}.`,
      sizeBytes === undefined ? undefined : `${counted(sizeBytes, "byte")}.`,
      digest === undefined ? undefined : `Digest ${digest}.`,
    ],
  };
}

function paragraph(head: string, more: readonly (string | undefined)[]): string {
  const rest = more.filter((text) => text !== undefined && text !== "");
  if (rest.length === 0) return head;
  // A full stop right after an address would be taken for a part of it.
  const address = head.slice(head.lastIndexOf(" ") + 1).includes("://");
  const start = address ? `${head} —` : sentence(head);
  return `${start} ${rest.join(" ")}`;
}

/** Sets an address apart from the punctuation around it. */
function ref(text: string): string {
  return text.includes("://") && !text.startsWith("<") ? `<${text}>` : text;
}

/** Ends a text like a sentence, if it does not end like one already; the last few units decide. */
function sentence(text: string): string {
  return /[.!?…:;。！？]["'”’)\]]*\s*$/u.test(text.slice(-16)) ? text : `${text}.`;
}

/**
 * Words that lose their capital inside a sentence; names must keep theirs, so the list is closed.
 */
const FUNCTION_WORDS =
  /^(?:The|A|An|This|That|These|Those|There|It|Its|He|She|We|They|You|His|Her|Our|Their|Your|My|In|On|At|If|When|Most|Many|Some|All|Every|Each|No|Nobody|Someone|Everyone|Not)(?= )/;

function midSentence(text: string): string {
  return text.replace(FUNCTION_WORDS, (word) => word.toLowerCase());
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function listed(title: string, items: readonly string[]): string | undefined {
  return items.length === 0 ? undefined : sentence(`${title}: ${items.map(ref).join("; ")}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function holds(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

function shown(value: Json | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : stableText(value);
}

/** At most two decimals, without trailing zeros. */
function decimal(value: number): string {
  return String(Number(value.toFixed(2)));
}

const DAY_MS = 86_400_000;

/** A day where the time is midnight UTC, else the second (or millisecond) in ISO 8601, UTC. */
function dateText(timeMs: number): string {
  const iso = new Date(timeMs).toISOString();
  if (timeMs % DAY_MS === 0) return iso.slice(0, iso.indexOf("T"));
  return iso.replace(".000Z", "Z");
}

const UNITS = [
  ["day", DAY_MS],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
  ["millisecond", 1],
] as const;

function durationText(durationMs: number): string {
  const parts: string[] = [];
  let rest = durationMs;
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) parts.push(counted(count, unit));
  }
  return parts.length === 0 ? "no time" : parts.join(" ");
}
