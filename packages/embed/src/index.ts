/**
 * The local embedder: `local()` gives `open(…, { embedder: local() })` a model that needs no network,
 * no native code and no download. It costs 7 MB on disk and in memory, some microseconds a text.
 *
 * Promises: the model is read once per process, when the first text is embedded; the same text has the
 * same vector everywhere. It knows English, and says of a question whether it can read it: other languages' words
 * come apart into pieces that mean little to it (README.md). Licences and origin of the model: NOTICE.
 */
import { readFile } from "node:fs/promises";
import { setImmediate as letOthersRun } from "node:timers/promises";
import { readModel, type StaticModel } from "./static-model.js";

/** Names the model: its vectors are compared with those of the same name only. */
export const LOCAL_MODEL = "cortex-static-1";
const DIMENSIONS = 384;
/** What its teacher was trained on, and what the sentences it was distilled by are written in. */
const LANGUAGES = ["en"] as const;
/** Texts embedded in one go: about a millisecond of work, so that a caller who waits meanwhile hardly notices. */
const AT_ONCE = 16;
const FILE = new URL("../model/static-1.bin", import.meta.url);

/** What `open` and `openHub` take as `embedder`. */
export interface LocalEmbedder {
  readonly model: string;
  readonly dimensions: number;
  /** The languages whose words it knows, as in `Intl`. */
  readonly languages: readonly string[];
  /** A question may wait for a few texts. */
  readonly isQuick: true;
  /** Whether it can read a question: whether enough of its words are words to it. */
  readsQuestion(text: string): Promise<boolean>;
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}

let loading: Promise<StaticModel> | undefined;

function loaded(): Promise<StaticModel> {
  loading ??= readFile(FILE).then(readModel);
  return loading;
}

/** The embedder of the model in this package. */
export function local(): LocalEmbedder {
  return {
    model: LOCAL_MODEL,
    dimensions: DIMENSIONS,
    languages: LANGUAGES,
    isQuick: true,
    async readsQuestion(text) {
      return (await loaded()).readsQuestion(text);
    },
    async embed(texts) {
      const model = await loaded();
      const vectors: Float32Array[] = [];
      for (const text of texts) {
        vectors.push(model.vectorOf(text));
        if (vectors.length % AT_ONCE === 0) await letOthersRun();
      }
      return vectors;
    },
  };
}
