/**
 * The settings of a question, kept in the address: how much may be said, in which rendering, of which
 * types, with history or without. A second set, under a prefix, is for comparing.
 */
import type { MemoryType } from "@cortex-memory/core/remote";
import { useId } from "react";
import { count } from "../base/format.tsx";
import { go, hrefWith, type Params } from "../base/route.ts";
import { isMemoryType, LANE_NAMES, LANES, type LaneName, spaced, TYPES } from "../base/words.ts";

/** How a question is asked. */
export interface Settings {
  readonly budgetTokens: number;
  readonly limit: number;
  readonly form: "short" | "medium" | "full";
  readonly types: readonly MemoryType[];
  readonly history: boolean;
  /** Lanes that do not count. */
  readonly offLanes: readonly LaneName[];
}

const FORMS = ["short", "medium", "full"] as const;
const BUDGETS = [100, 200, 400, 800, 1600, 3200] as const;

/** The settings in an address. */
export function optionsIn(params: Params, prefix: string): Settings {
  const form = FORMS.find((one) => one === params[`${prefix}form`]);
  const types = (params[`${prefix}types`] ?? "").split(",").filter(isMemoryType);
  return {
    budgetTokens: numberIn(params[`${prefix}budget`], 400),
    limit: numberIn(params[`${prefix}limit`], 10),
    form: form ?? "medium",
    types,
    history: params[`${prefix}history`] === "1",
    offLanes: (params[`${prefix}off`] ?? "").split(",").filter(isLane),
  };
}

function isLane(name: string): name is LaneName {
  return Object.hasOwn(LANES, name);
}

function numberIn(text: string | undefined, otherwise: number): number {
  const value = Number(text);
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : otherwise;
}

/** The fields. */
export function AskOptions({
  settings,
  prefix,
}: {
  readonly settings: Settings;
  readonly prefix: string;
}) {
  const set = (name: string, value: string | undefined) =>
    go(hrefWith({ [prefix + name]: value }), { replace: true });
  return (
    <div className="ask-options">
      <Choice
        label="Budget"
        about="How much room the answer may take in the agent's prompt"
        value={settings.budgetTokens}
        options={BUDGETS.map((tokens) => [tokens, `${count(tokens)} tokens`])}
        onChange={(value) => set("budget", value)}
      />
      <Choice
        label="At most"
        about="How many memories are told"
        value={settings.limit}
        options={[5, 10, 20, 50].map((most) => [most, `${most} hits`])}
        onChange={(value) => set("limit", value)}
      />
      <Choice
        label="Wording"
        about="How much of each memory is told: a few words, a sentence, all of it"
        value={settings.form}
        options={FORMS.map((form) => [form, form])}
        onChange={(value) => set("form", value)}
      />
      <Choice
        label="Of type"
        about="Only memories of one type"
        value={settings.types[0] ?? ""}
        options={[["", "all types"], ...TYPES.map((type) => [type, spaced(type)] as const)]}
        onChange={(value) => set("types", value)}
      />
      <History
        isOn={settings.history}
        onChange={(isOn) => set("history", isOn ? "1" : undefined)}
      />
      <Lanes off={settings.offLanes} onChange={(off) => set("off", off.join(","))} />
    </div>
  );
}

/** One setting of a few. */
function Choice({
  label,
  about,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly about: string;
  readonly value: string | number;
  readonly options: readonly (readonly [value: string | number, words: string])[];
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <>
      <label htmlFor={id} title={about}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    </>
  );
}

function History({
  isOn,
  onChange,
}: {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}) {
  return (
    <label className="check" title="Also memories that were replaced or have expired">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      what was replaced, too
    </label>
  );
}

/** The lanes, each of which can be switched off. */
function Lanes({
  off,
  onChange,
}: {
  readonly off: readonly LaneName[];
  readonly onChange: (off: readonly LaneName[]) => void;
}) {
  return (
    <fieldset className="lanes">
      <legend title="The ways by which a memory can be found. Switch one off to see what it brings.">
        Found by
      </legend>
      {LANE_NAMES.map((name) => (
        <label key={name} className="check" title={LANES[name].about}>
          <input
            type="checkbox"
            checked={!off.includes(name)}
            // With every lane off nothing could be found: the last one stays.
            disabled={!off.includes(name) && off.length === LANE_NAMES.length - 1}
            onChange={(event) =>
              onChange(event.target.checked ? off.filter((one) => one !== name) : [...off, name])
            }
          />
          <span className={`lane-dot share-${name}`} aria-hidden="true" />
          {LANES[name].name}
        </label>
      ))}
    </fieldset>
  );
}
