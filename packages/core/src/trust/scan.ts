/**
 * The threat scanner: looks through text that did not come from the owner for orders to the model that
 * will read it (injection), for attempts to send memory away (exfiltration), for orders to call tools
 * (hijack), and for characters that hide what a text says (hidden).
 *
 * Promise: pure, deterministic, and linear in the text: every pattern is anchored on rare words and its
 * gaps are bounded, so that no document slows a write down. A finding is a reason to show a text with
 * care, never to lose it: the text is stored as it came, with the kinds of its findings as flags.
 *
 * No list of phrases is complete. What keeps the owner's words safe is the gate (`gate.ts`), which does
 * not read the text at all; the scanner only decides how a text is shown.
 */

import { flatten } from "../records/fence.js";
import { truncateToTokens } from "../records/forms.js";

/** What a text may be trying. */
export type Threat = "injection" | "exfiltration" | "hijack" | "hidden";

/** Every threat, in the order in which flags are stored. */
const THREATS: readonly Threat[] = ["injection", "exfiltration", "hijack", "hidden"];

/** One rule that a text met. */
interface Finding {
  readonly threat: Threat;
  /** The name of the rule. */
  readonly rule: string;
}

interface Rule extends Finding {
  readonly pattern: RegExp;
}

function rule(threat: Threat, name: string, pattern: RegExp): Rule {
  return { threat, rule: name, pattern };
}

/** Patterns over folded text: lower case, Latin letters, single spaces, no marks. */
export const RULES: readonly Rule[] = [
  rule(
    "injection",
    "drop instructions",
    /\b(?:ignore|disregard|forget|override|bypass|skip|discard)\b.{0,40}\b(?:previous|prior|above|earlier|preceding|existing|all|any|your|system|the)\b.{0,30}\b(?:instruction|prompt|rule|guideline|direction|directive|command|constraint|training)/u,
  ),
  rule(
    "injection",
    "drop what was said",
    /\b(?:ignore|disregard|forget)\b (?:all |everything |anything )?(?:of )?(?:the |that |what )?(?:above|before|previous|you (?:were|have been|was) told)/u,
  ),
  rule(
    "injection",
    "new instructions",
    /\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|orders)\b ?(?:are|is|follow|from|below|[:=])/u,
  ),
  rule(
    "injection",
    "another role",
    /\b(?:you are now|from now on,? (?:you|act|respond|answer|always|never)|pretend (?:to be|you are)|act as (?:if|though|an? (?:unrestricted|uncensored|admin|root|developer)))/u,
  ),
  rule(
    "injection",
    "no limits",
    /\b(?:developer mode|jailbreak|do anything now|without (?:any )?(?:restrictions|limitations|filters|safety))\b/u,
  ),
  rule(
    "injection",
    "a forged turn",
    /(?:^|[\s>])(?:\[?(?:system|assistant|developer)\]? ?(?:message|prompt)? ?:|<\|?(?:im_start|system|assistant|endoftext)|\[inst\]|<<sys>>|### ?(?:system|instruction))/u,
  ),
  rule(
    "injection",
    "keep it from the user",
    /\b(?:do not|don't|never|without) (?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|alert|alerting|ask|asking)\b.{0,30}\b(?:the )?(?:user|owner|human|operator)/u,
  ),
  rule(
    "injection",
    "rewrite memory",
    /\b(?:overwrite|replace|update|change|delete|erase|forget)\b.{0,30}\b(?:the |your )?(?:user|owner)(?:'s|s)? (?:preference|identity|constraint|memory|memories|rule|setting)/u,
  ),
  rule(
    "injection",
    "drop instructions, other languages",
    /(?:ignorier\w{0,12}|vergiss|missachte\w{0,12}).{0,40}(?:anweisung|vorgabe|befehl|regel)|(?:ignor\w{1,12}|oubli\w{1,12}).{0,40}(?:instructions?|consignes|regles) (?:precedent|anterieur|ci-dessus)|(?:ignor\w{1,12}|olvid\w{1,12}|descart\w{1,12}).{0,40}(?:instruc\w{1,12}|reglas|ordenes) (?:anterior|previa|de arriba)|(?:ignor\w{1,12}|esquec\w{1,12}).{0,40}(?:instruc\w{1,12}|regras) (?:anterior|previa)|(?:игнорир|забуд).{0,40}(?:инструкц|указани)|(?:忽略|无视|忘记|忽視|無視).{0,12}(?:指令|指示|说明|說明|规则|提示|命令)/u,
  ),
  rule(
    "exfiltration",
    "send it away",
    /\b(?:send|post|upload|forward|email|e-mail|transmit|leak|exfiltrate|copy|submit)\b.{0,60}\b(?:api key|access key|password|credential|secret|token|private key|system prompt|conversation|chat history|memor(?:y|ies)|contacts|personal data)\b.{0,60}(?:\bto\b|https?:|@)/u,
  ),
  rule(
    "exfiltration",
    "reveal the secret",
    /\b(?:reveal|print|show|output|repeat|disclose|display|dump|echo)\b.{0,40}\b(?:system prompt|hidden prompt|initial instructions|your instructions|api keys?|passwords?|credentials|private keys?|environment variables)/u,
  ),
  rule(
    "exfiltration",
    "a link that carries data",
    /!\[[^\]]{0,80}\]\(https?:[^)\s]{0,300}(?:\{|\$|%7b|=\[|\?[a-z_]{0,20}=(?:data|secret|token|prompt|memory))/u,
  ),
  rule(
    "hijack",
    "call a tool",
    /\b(?:call|invoke|execute|run|use|trigger)\b (?:the |this |your )?(?:following )?(?:[\w.-]{1,40} )?(?:tool|function|plugin|command|shell|script)\b.{0,60}(?:\bwith\b|[:(`{]|\bnow\b|\bimmediately\b)/u,
  ),
  rule(
    "hijack",
    "a forged call",
    /<\/?(?:tool_call|function_call|tool_use|invoke)\b|"tool_calls?" ?:/u,
  ),
  rule(
    "hijack",
    "a command line",
    /\b(?:curl|wget)\b.{0,200}\| ?(?:ba|z)?sh\b|\brm -rf [/~.]|\b(?:powershell|cmd)(?:\.exe)? [-/](?:e|enc|c)\b|\bbase64 (?:-d|--decode)\b.{0,40}\|/u,
  ),
];

/**
 * Every text that meets a rule holds one of these: of each rule the rarest words that it cannot do
 * without. Most texts hold none, and are done after one pass. The three letters of `cmd` alone stand in one of thirty answers,
 * in ids.
 */
export const SIEVE =
  /ignor|disregard|forget|overrid|bypass|skip|discard|instruction|prompt|orders|you are now|from now on|pretend|act as|developer|jailbreak|do anything now|without|system|assistant|im_start|endoftext|\[inst\]|<<sys>>|do not|don't|never|user|owner|vergiss|missachte|oubli|olvid|descart|esquec|игнорир|забуд|忽略|无视|忘记|忽視|無視|api key|access key|password|credential|secret|token|private key|conversation|chat history|memor|contacts|personal data|environment variables|!\[|tool|function|plugin|command|shell|script|invoke|curl|wget|rm -rf|cmd[. ]|base64/u;

/** Characters that turn text round or hide it: overrides of direction, the invisible alphabet of tags. */
const HIDING = /[\u202d\u202e\u{e0001}-\u{e007f}]/u;
/** Flags of regions are written with tags, and hide nothing. */
const REGION_FLAG = /\u{1f3f4}[\u{e0020}-\u{e007f}]{1,16}/gu;
/** A run of invisible characters inside a word, where no script needs it. */
const SPLIT_WORD = /[A-Za-z][\u00ad\u200b\u2060\ufeff]+[A-Za-z]/u;
const INVISIBLE =
  /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Letters of other alphabets that look like Latin ones. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  [
    ["аαɑ", "a"],
    ["вβ", "b"],
    ["сϲ", "c"],
    ["ԁ", "d"],
    ["еєε", "e"],
    ["ɡ", "g"],
    ["һ", "h"],
    ["іιı", "i"],
    ["ј", "j"],
    ["кκ", "k"],
    ["ӏ", "l"],
    ["м", "m"],
    ["ո", "n"],
    ["оοօσ", "o"],
    ["рρ", "p"],
    ["ԛ", "q"],
    ["ѕ", "s"],
    ["тτ", "t"],
    ["υս", "u"],
    ["ν", "v"],
    ["ѡω", "w"],
    ["хχ", "x"],
    ["уγ", "y"],
  ].flatMap(([letters = "", latin = ""]) => [...letters].map((letter) => [letter, latin] as const)),
);

const ASCII = /^[\0-\x7f]*$/;
/** Spaces that are not single, or no spaces: replacing those that are would copy the text for nothing. */
const ODD_SPACE = /[^\S ]| {2}/u;

/** What the patterns are tried on: the text as its author may have meant it to be read. */
export function foldForScan(text: string): readonly string[] {
  return ASCII.test(text) ? [foldAscii(text)] : foldAny(text);
}

function foldAscii(text: string): string {
  const lower = text.toLowerCase();
  return ODD_SPACE.test(lower) ? lower.replace(/\s+/gu, " ") : lower;
}

function foldAny(text: string): readonly string[] {
  const plain = text
    .replace(INVISIBLE, "")
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[\u2018\u2019\u02bc]/gu, "'")
    .replace(/\s+/gu, " ");
  const latin = plain.replace(
    /[\u0080-\u{10ffff}]/gu,
    (letter) => LOOK_ALIKES.get(letter) ?? letter,
  );
  return latin === plain ? [plain] : [plain, latin];
}

/** What most texts show; shared, because every text of an answer is scanned. */
const NOTHING: readonly never[] = [];

/** Every rule that a text meets. */
export function scanText(text: string): readonly Finding[] {
  if (ASCII.test(text)) {
    const form = foldAscii(text);
    return SIEVE.test(form) ? rulesMetBy([form]) : NOTHING;
  }
  const found = rulesMetBy(foldAny(text).filter((form) => SIEVE.test(form)));
  if (HIDING.test(text.replace(REGION_FLAG, "")))
    found.push({ threat: "hidden", rule: "characters that hide text" });
  if (SPLIT_WORD.test(text)) found.push({ threat: "hidden", rule: "a word that is split unseen" });
  return found;
}

/** Printable ASCII without brackets of a mark, and without the backslash that begins an escape. */
const UNESCAPED = /^[ -;=?-[\]-~]*$/;

/**
 * Whether no text in a JSON text can meet a rule, open a fence or hide anything: each of them stands in the whole as
 * it is, so that one pass tells for all. False says nothing: then each has to be looked at.
 */
export function isPlainJson(json: string): boolean {
  return UNESCAPED.test(json) && !json.includes("  ") && !SIEVE.test(json.toLowerCase());
}

function rulesMetBy(forms: readonly string[]): Finding[] {
  return RULES.filter(({ pattern }) => forms.some((form) => pattern.test(form))).map(
    ({ threat, rule: name }) => ({ threat, rule: name }),
  );
}

/** The threats that any of some texts shows, each once, in a fixed order. */
export function threatsIn(texts: readonly string[]): readonly Threat[] {
  let found: readonly Finding[] = NOTHING;
  for (const text of texts) {
    const more = scanText(text);
    if (more.length > 0) found = [...found, ...more];
  }
  if (found.length === 0) return NOTHING;
  return THREATS.filter((threat) => found.some((one) => one.threat === threat));
}

/** How a text of memory is handed to a model. */
interface Quoting {
  /** What the scanner found when it was written; without them the text is scanned now. */
  readonly flags?: readonly string[] | undefined;
  /** The most of it, in tokens. */
  readonly tokens?: number;
}

/**
 * A text of memory as models get it, whatever field it stands in: withheld if it looks like an order to
 * them, else on one line, without marks of a fence or characters that hide, and cut.
 */
export function quoted(text: string, { flags, tokens }: Quoting = {}): string {
  const found = flags ?? threatsIn([text]);
  const shown = found.length > 0 ? withheld(found) : flatten(text);
  return tokens === undefined ? shown : truncateToTokens(shown, tokens);
}

/** What is shown to a model in the place of a text with flags. */
export function withheld(flags: readonly string[]): string {
  return `(withheld: this text looks like ${flags.join(" and ")})`;
}
