/**
 * The settings of a question, kept in the address: how much may be said, in which rendering, of which
 * types, with history or without. A second set, under a prefix, is for comparing.
 */
import { MEMORY_TYPES, type MemoryType } from "@cortex-memory/core/remote";
import { useId } from "react";
import { count } from "../base/format.tsx";
import { go, hrefWith, type Params } from "../base/route.ts";
import { LANE_NAMES, LANES, type LaneName, spaced, TYPES } from "../base/words.ts";

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
  const types = (params[`${prefix}types`] ?? "").split(",").filter(isType);
  return {
    budgetTokens: numberIn(params[`${prefix}budget`], 400),
    limit: numberIn(params[`${prefix}limit`], 10),
    form: form ?? "medium",
    types,
    history: params[`${prefix}history`] === "1",
    offLanes: (params[`${prefix}off`] ?? "").split(",").filter(isLane),
  };
}

function isType(name: string): name is MemoryType {
  return Object.hasOwn(MEMORY_TYPES, name);
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
  const id = useId();
  const set = (name: string, value: string | undefined) =>
    go(hrefWith({ [prefix + name]: value }), { replace: true });
  return (
    <div className="ask-options">
      <label
        htmlFor={`${id}-budget`}
        title="How much room the answer may take in the agent's prompt"
      >
        Budget
      </label>
      <select
        id={`${id}-budget`}
        value={settings.budgetTokens}
        onChange={(event) => set("budget", event.target.value)}
      >
        {BUDGETS.map((tokens) => (
          <option key={tokens} value={tokens}>
            {count(tokens)} tokens
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-limit`}>At most</label>
      <select
        id={`${id}-limit`}
        value={settings.limit}
        onChange={(event) => set("limit", event.target.value)}
      >
        {[5, 10, 20, 50].map((most) => (
          <option key={most} value={most}>
            {most} hits
          </option>
        ))}
      </select>
      <label
        htmlFor={`${id}-form`}
        title="How much of each memory is told: a few words, a sentence, all of it"
      >
        Wording
      </label>
      <select
        id={`${id}-form`}
        value={settings.form}
        onChange={(event) => set("form", event.target.value)}
      >
        {FORMS.map((form) => (
          <option key={form}>{form}</option>
        ))}
      </select>
      <label htmlFor={`${id}-types`}>Of type</label>
      <select
        id={`${id}-types`}
        value={settings.types[0] ?? ""}
        onChange={(event) => set("types", event.target.value)}
      >
        <option value="">all types</option>
        {TYPES.map((type) => (
          <option key={type} value={type}>
            {spaced(type)}
          </option>
        ))}
      </select>
      <History
        isOn={settings.history}
        onChange={(isOn) => set("history", isOn ? "1" : undefined)}
      />
      <Lanes off={settings.offLanes} onChange={(off) => set("off", off.join(","))} />
    </div>
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
