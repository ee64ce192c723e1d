/**
 * What a test of Cortex, or of a backend for it, may use: the conformance suite, an open store
 * that checks itself, a counting store and a seeded generator. Nothing here is imported by the library itself.
 */
export { type CountingKv, countingKv, type KvCounts } from "./counting-kv.js";
export {
  type CountedStore,
  openCountedStore,
  openTestStore,
  refusalOf,
  TEST_EPOCH_MS,
  type TestClock,
  type TestStore,
  type TestStoreOptions,
} from "./fixtures.js";
export { openTestHub, type TestHub, type TestHubOptions } from "./hub-fixture.js";
export { type KvCase, type KvSubject, type KvSuiteOptions, kvSuite } from "./kv-suite.js";
export { type SeededRandom, seededRandom } from "./seeded-random.js";
