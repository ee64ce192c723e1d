/**
 * `npm run simulate`: plays runs of the simulation (packages/core/src/testing/simulation.ts), one seed
 * after another. A run that fails is played again ever shorter, and one line is printed that repeats it.
 * With `--every-call` it plays one run over and over with a fault at every call to the storage.
 */

import { KV_FAULTS } from "../../packages/core/dist/testing/faulty-kv.js";
import {
  FEATURES,
  faultAtEveryCall,
  reproduction,
  SimulationFailure,
  shrink,
  simulate,
} from "../../packages/core/dist/testing/simulation.js";
import { fail, newSeed, progress, readFlags } from "./arguments.mjs";

const flags = readFlags(
  "Plays random runs of several clients on one store, with crashes, faults, jobs and moves, against a plain model.",
  [
    { name: "seeds", kind: "number", standard: 100, help: "how many runs" },
    {
      name: "first",
      kind: "number",
      standard: "",
      help: "the seed of the first run; a new one when not given",
    },
    { name: "seed", kind: "number", standard: "", help: "play this run alone" },
    { name: "steps", kind: "number", standard: 30, help: "steps of a run" },
    { name: "skip", kind: "text", standard: "", help: "steps to leave out: 3,4,9" },
    {
      name: "without",
      kind: "text",
      standard: "",
      help: `what to leave out: ${FEATURES.join(", ")}`,
    },
    {
      name: "fault-at",
      kind: "text",
      standard: "",
      help: `one fault at a call: 17:fails, or ${KV_FAULTS.join(", ")}`,
    },
    {
      name: "every-call",
      kind: "yes",
      standard: false,
      help: "play the run with a fault at every call, one after another",
    },
  ],
);

const tell = progress();
const started = Date.now();

/** @param {string} text */
function listOf(text) {
  return text === "" ? [] : text.split(",").map((part) => part.trim());
}

function optionsOf(seed) {
  const without = listOf(String(flags.without));
  for (const name of without)
    if (!FEATURES.includes(name)) fail(`--without: ${name} is none of ${FEATURES.join(", ")}`);
  const [call = "", fault = ""] = String(flags["fault-at"]).split(":");
  if (call !== "" && !KV_FAULTS.includes(fault))
    fail(`--fault-at: expected a number and one of ${KV_FAULTS.join(", ")}, as in 17:fails`);
  return {
    seed,
    steps: Number(flags.steps),
    skip: listOf(String(flags.skip)).map(Number),
    without,
    ...(call === "" ? {} : { faultAt: { call: Number(call), fault } }),
  };
}

async function reportFailure(options, failure) {
  process.stderr.write("\n");
  process.stdout.write(
    `seed ${options.seed} fails at ${failure.message}\nlooking for a shorter run that fails ...\n`,
  );
  const shorter = await shrink(options, failure);
  process.stdout.write(`${reproduction(shorter)}\n`);
  process.exitCode = 1;
}

const seed = flags.seed === "" ? undefined : Number(flags.seed);
const first = seed ?? (flags.first === "" ? newSeed() : Number(flags.first));
const runs = seed === undefined ? Number(flags.seeds) : 1;
const totals = {};

if (flags["every-call"]) {
  let last;
  try {
    const report = await faultAtEveryCall({ seed: first, steps: Number(flags.steps) }, 1, (at) => {
      last = at;
      tell(`${at.fault} at call ${at.call}`);
    });
    process.stdout.write(
      `seed ${first}: a fault at each of ${report.calls} calls, ${report.runs} runs, all sound\n`,
    );
  } catch (error) {
    if (!(error instanceof SimulationFailure)) throw error;
    const options = { ...optionsOf(first), without: ["clients", "crashes"], faultAt: last };
    process.stdout.write(`${error.message}\n${reproduction(options)}\n`);
    process.exitCode = 1;
  }
} else {
  process.stdout.write(`${runs} runs of ${flags.steps} steps, seeds from ${first}\n`);
  for (let at = 0; at < runs; at += 1) {
    const options = optionsOf(first + at);
    try {
      const report = await simulate(options);
      for (const [name, value] of Object.entries(report))
        totals[name] = (totals[name] ?? 0) + value;
    } catch (error) {
      if (!(error instanceof SimulationFailure)) throw error;
      await reportFailure(options, error);
      break;
    }
    tell(`${at + 1} of ${runs} runs, ${Math.round((Date.now() - started) / 1000)} s`);
  }
  if (process.exitCode !== 1)
    process.stdout.write(
      `all sound: ${JSON.stringify(totals)}, ${Math.round((Date.now() - started) / 1000)} s\n`,
    );
}
