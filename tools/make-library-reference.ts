/**
 * The page on the TypeScript API, written from the contract: every verb with its signature, its
 * arguments and options with their bounds, and what it answers. Pure.
 */
import * as z from "zod";
import { noteOf } from "../packages/core/src/contract/fields.js";
import { FAMILIES } from "../packages/core/src/contract/index.js";
import type { Verb } from "../packages/core/src/contract/verb.js";
import { ISO_PATTERN } from "../packages/core/src/records/fields.js";

const INTRO = `# The library

Every verb of \`@cortex-memory/core\`, generated from its contract. \`open\` gives a \`Cortex\`; its verbs are
methods. Arguments come first, then one object of options. Everything may also be given by name:
\`memory.get({ id })\` is \`memory.get(id)\`. Beside its own options every verb takes \`access\`, who is asking; the owner
when not given. \`Options<"recall">\` and \`Answer<"recall">\` are the types of a verb's options and answer.

A time is milliseconds since 1970, a \`Date\`, or an ISO text. A position of the journal is a seq, a \`Date\`, or an ISO
text. A reference to a memory is its id, its URI, or its external id. Not found is \`undefined\`; misuse and expected
failures reject with a \`CortexError\`, whose codes are [listed](errors.md).

| column | meaning |
|---|---|
| who | \`filtered\`: answers over what the caller may see. \`write\`: the owner and holders of a writable scope. \`owner\`: the owner alone. \`open\`: anybody; tells nothing about a memory |
| again | how a second call is recognised: \`natural\`: doing it twice leaves what doing it once leaves. \`key\`: by an \`idempotencyKey\`, which is kept with what the call wrote |
`;

/** The page. */
export function libraryPage(): string {
  const parts = Object.entries(FAMILIES).map(([title, verbs]) => {
    const sections = Object.values(verbs as Record<string, Verb>).map(sectionOf);
    return `## ${title}\n\n${sections.join("\n")}`;
  });
  return `${INTRO}\n${parts.join("\n")}`;
}

function sectionOf(verb: Verb): string {
  const head = `### ${verb.name}\n\n${verb.summary}.\n`;
  const facts = `\n\`${signatureOf(verb)}\`\n\nA ${verb.kind}; who: ${verb.policy}; again: ${verb.retry}.\n`;
  const fields = Object.entries({ ...verb.args, ...verb.options });
  const local = verb.local
    .filter((name) => !Object.hasOwn(verb.args, name))
    .map((name) => `| \`${name}\` | stays in this process | no | |`);
  const answer = `\nAnswers with ${answerOf(verb)}.\n`;
  if (fields.length + local.length === 0) return `${head}${facts}${answer}`;
  const rows = fields.map(([name, schema]) => rowOf(name, schema));
  return `${head}${facts}\n| field | takes | required | |\n|---|---|---|---|\n${[...rows, ...local].join("\n")}\n${answer}`;
}

/** What the library answers with: the members of the answer, or what it is. */
function answerOf(verb: Verb): string {
  const whole = z.toJSONSchema(verb.output, { io: "output", unrepresentable: "any" }) as Json;
  const members = (whole.properties ?? {}) as { readonly [name: string]: Json };
  const json = verb.member === undefined ? whole : (members[verb.member] ?? {});
  const absent = verb.mayMiss === true ? ", or `undefined` where there is none" : "";
  return `${verb.sends === "events" ? "items as they come: " : ""}${takes(json)}${absent}`;
}

function signatureOf(verb: Verb): string {
  const args = Object.entries(verb.args).map(([name, schema]) =>
    isOptional(schema) ? `${name}?` : name,
  );
  const options = Object.entries(verb.options);
  const needed = options.some(([, schema]) => !isOptional(schema));
  const rest = needed ? ["{ … }"] : options.length + verb.local.length === 0 ? [] : ["{ … }?"];
  return `${verb.name}(${[...args, ...rest].join(", ")})`;
}

function isOptional(schema: z.ZodType): boolean {
  return schema._zod.optin === "optional";
}

function rowOf(name: string, schema: z.ZodType): string {
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;
  const description = typeof json.description === "string" ? json.description : "";
  const note = noteOf(schema);
  const what = note.time === true ? "a time" : note.position === true ? "a position" : takes(json);
  const cells = [`\`${name}\``, what, isOptional(schema) ? "no" : "yes", description];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}

type Json = { readonly [keyword: string]: unknown };

/** What a field takes, in words, with its bounds. */
function takes(json: Json): string {
  const { type, enum: words, anyOf, items } = json;
  if (json.const !== undefined) return `\`${String(json.const)}\``;
  if (Array.isArray(words)) return words.map((word) => `\`${String(word)}\``).join(" ");
  if (Array.isArray(anyOf))
    return [...new Set(anyOf.map((one) => takes(one as Json)))].join(", or ");
  if (Array.isArray(type)) return type.map((one) => takes({ ...json, type: one })).join(", or ");
  switch (type) {
    case "null":
      return "`null`";
    case "string":
      if (json.pattern === ISO_PATTERN) return "an ISO time";
      return bounded("text", json.minLength, json.maxLength, "bytes");
    case "integer":
      return bounded("whole number", json.minimum, json.maximum, "");
    case "number":
      return bounded("number", json.minimum, json.maximum, "");
    case "boolean":
      return "true or false";
    case "array":
      return `a list of: ${takes((items ?? {}) as Json)}${upTo(json.maxItems)}`;
    case "object":
      return objectText(json);
    default:
      return "see the description";
  }
}

function objectText({ properties }: Json): string {
  if (typeof properties !== "object" || properties === null) return "an object";
  return `an object of ${Object.keys(properties)
    .map((name) => `\`${name}\``)
    .join(", ")}`;
}

function bounded(what: string, min: unknown, max: unknown, unit: string): string {
  const isOpen = (value: unknown) =>
    value === undefined || Math.abs(Number(value)) >= Number.MAX_SAFE_INTEGER || value === 0;
  const low = isOpen(min) && min !== 0 ? "" : ` from ${String(min)}`;
  const high =
    max === undefined || Number(max) >= Number.MAX_SAFE_INTEGER ? "" : ` to ${String(max)}`;
  if (unit !== "") return high === "" ? what : `${what},${high.replace(" to", " at most")} ${unit}`;
  return `${what}${low}${high}`;
}

function upTo(max: unknown): string {
  return typeof max === "number" && max < Number.MAX_SAFE_INTEGER ? `, at most ${max}` : "";
}
