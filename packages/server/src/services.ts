/**
 * The embedder and the model that the settings describe, for every door. Used only where an address is
 * set: a key that happens to be in the environment switches nothing on. A key is read from the variable
 * that the settings name, goes to its endpoint and nowhere else, and no setting shows it.
 */
import { type Embedder, httpEmbedder, httpModel, type Model } from "@cortex-memory/core";
import { UsageError } from "./cli/usage.js";
import { embedderSettingsFor, modelSettingsFor, type Setting } from "./config.js";

type Environment = { readonly [name: string]: string | undefined };

/** What `open` is given beside the store: an embedder and a model, where they are set. */
export function servicesIn(env: Environment): {
  readonly embedder?: Embedder;
  readonly model?: Model;
} {
  return { ...embedderIn(env), ...modelIn(env) };
}

/** The same for a door that stays open: it then works for memories in the background. */
export function backgroundIn(
  env: Environment,
): ReturnType<typeof servicesIn> & { readonly jobs?: true } {
  const found = servicesIn(env);
  return Object.keys(found).length === 0 ? {} : { ...found, jobs: true };
}

function embedderIn(env: Environment): { readonly embedder?: Embedder } {
  const settings = embedderSettingsFor({ env });
  const endpoint = settings["embedder.endpoint"];
  if (endpoint.value === "") return {};
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
  const settings = modelSettingsFor({ env });
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
