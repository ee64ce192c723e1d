/**
 * The embedder and the model that the settings describe, for every door, and how jobs are run, for those that stay
 * open. The embedder is the local model unless the settings say otherwise; a service elsewhere is used only where
 * an address is set: a key that happens to be in the environment switches nothing on. A key is read from the
 * variable that the settings name, goes to its endpoint and nowhere else, and no setting shows it.
 */
import {
  type Embedder,
  httpEmbedder,
  httpModel,
  type JobsOptions,
  type Model,
} from "@cortex-memory/core";
import { local } from "@cortex-memory/embed";
import { type Setting, serviceSettingsFor } from "./config.js";
import { UsageError } from "./error-status.js";
import { numberFrom } from "./settings.js";

type Environment = { readonly [name: string]: string | undefined };

/** What `open` is given beside the store: an embedder and a model, where they are set. */
export function servicesIn(env: Environment): {
  readonly embedder?: Embedder;
  readonly model?: Model;
} {
  return { ...embedderIn(env), ...modelIn(env) };
}

/** A silence of more than a day is none: the session is over. */
const DAY_MS = 24 * 60 * 60_000;

/** Loading what jobs need takes a tenth of the start of a process: the first caller goes before them. */
const FIRST_LOOK_MS = 500;

/** Callers in a row go before jobs for so long, and after a start six times as long; then both go on, the jobs little by little. */
const GIVE_WAY_MS = 5000;

/** The same for a door that stays open: it also works for memories in the background. */
export function backgroundIn(
  env: Environment,
): ReturnType<typeof servicesIn> & { readonly jobs: JobsOptions } {
  const settings = serviceSettingsFor({ env });
  return {
    ...servicesIn(env),
    jobs: {
      firstLookMs: FIRST_LOOK_MS,
      giveWayMs: GIVE_WAY_MS,
      maintainEveryMs: numberFrom(settings["jobs.maintainEveryMs"], 0),
      snapshotEveryMs: numberFrom(settings["jobs.snapshotEveryMs"], 0),
      extractAfterMs: numberFrom(settings["jobs.extractAfterMs"], 0, DAY_MS),
    },
  };
}

function embedderIn(env: Environment): { readonly embedder?: Embedder } {
  const settings = serviceSettingsFor({ env });
  const endpoint = settings["embedder.endpoint"];
  if (endpoint.value === "none") return {};
  if (endpoint.value === "local") return { embedder: local() };
  return {
    embedder: httpEmbedder({
      endpoint: endpoint.value,
      model: required(settings["embedder.model"], endpoint),
      dimensions: Number(required(settings["embedder.dimensions"], endpoint)),
      ...keyOf(settings["embedder.keyVariable"], env),
    }),
  };
}

function modelIn(env: Environment): { readonly model?: Model } {
  const settings = serviceSettingsFor({ env });
  const endpoint = settings["model.endpoint"];
  if (endpoint.value === "") return {};
  return {
    model: httpModel({
      endpoint: endpoint.value,
      model: required(settings["model.name"], endpoint),
      ...keyOf(settings["model.keyVariable"], env),
    }),
  };
}

function required({ value, variable }: Setting, because: Setting): string {
  if (value !== "") return value;
  throw new UsageError(`${variable}: expected a value, because ${because.variable} is set`);
}

function keyOf(names: Setting, env: Environment): { readonly apiKey?: string } {
  if (names.value === "") return {};
  const apiKey = env[names.value];
  if (apiKey !== undefined && apiKey !== "") return { apiKey };
  throw new UsageError(`${names.variable}: names ${names.value}, which is not set`);
}
