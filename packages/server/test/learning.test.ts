/** Context and learning on the command line: what people see, and what scripts get. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";

let place: Place;
beforeAll(async () => {
  place = makePlace();
  await place.json(["write", "constraint", "No red-eye flights", "--external-id", "rule"]);
  const frames = JSON.stringify([{ verb: "schedule", object: "plan", ref: "trip" }]);
  const filed = ["--frames", frames];
  await place.json(["write", "event", "Ada missed the \u001b[31mtrain", ...filed]);
  await place.json(["write", "fact", "Trains leave at nine", "--external-id", "train", ...filed]);
});
afterAll(() => place.remove());

describe("context", () => {
  test("prints the prompt and nothing else, with control characters taken out", async () => {
    const { out, exit } = await place.cortex([
      "context",
      "--verb",
      "schedule",
      "--object",
      "plan=trip",
    ]);
    expect(exit).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toBe("<<<cortex-memory");
    expect(lines.at(-1)).toBe("cortex-memory>>>");
    const day = new Date().toISOString().slice(0, 4);
    expect(lines[2]).toMatch(
      new RegExp(`^- \\[\\w{26} ${day}-\\d\\d-\\d\\d asserted\\] No red-eye`),
    );
    expect(out).toContain("Ada missed the [31mtrain");
    expect(out).not.toContain("\u001b");
    const whole = (await place.cortex(["context", "--tier", "pinned"])).out;
    expect(whole).toContain("No red-eye");
    expect(whole).not.toContain("Trains");
  });

  test("flags are checked before anything is read", async () => {
    const wrong = [
      [["context", "--object", "plan"], "expected key=value"],
      [["context", "--verb", "find", "--object", "planet=x"], "expected one of the kinds service"],
      [["context", "--verb", "find", "--object", "plan=a", "--object", "plan=b"], "each key once"],
      [["context", "--tier", "best"], "expected one of pinned"],
      [["context", "--budget", "0"], "expected a whole number of at least 1"],
    ] as const;
    for (const [args, message] of wrong) {
      const { exit, err } = await place.cortex(args);
      expect(exit, args.join(" ")).toBeGreaterThan(0);
      expect(err).toContain(message);
    }
  });

  test("a store without anything says so", async () => {
    const empty = makePlace();
    try {
      await empty.json(["note", "idea", "x"]);
      expect((await empty.cortex(["context"])).out).toBe("nothing to say yet\n");
    } finally {
      empty.remove();
    }
  });
});

describe("learning", () => {
  test("attest says what it counted, skipped and moved; weights and inspect show it", async () => {
    expect((await place.cortex(["weights"])).out).toContain("nothing learned yet");
    const said = await place.cortex(["attest", "trip-1", "success", "train", "nobody"]);
    expect(said.out).toMatch(
      /✓ attested 1 memory, citations \+1 seq \d+\nskipped nobody\nweights: /,
    );
    expect(said.out).toContain("recency 0.250 → ");
    const none = ["attest", "trip-2", "failure", "train", "--reason", "no luck"];
    expect((await place.cortex(none)).out).toContain("weights unchanged");
    expect((await place.cortex(["weights"])).out).toContain("learned from attestations");
    const { out } = await place.cortex(["inspect", "train"]);
    expect(out).toMatch(/salience\nscore +0\.\d{3}\nrecency +1\.000 × 0\.\d{3} = 0\.\d{3}/);
    expect(out).toContain("read 1, cited 1");
    const rule = (await place.cortex(["inspect", "rule"])).out;
    expect(rule).toContain("score       0.700 (pinned: never below 0.700)");
  });

  test("compact shows what stays and what is cut, and the record reads back", async () => {
    const { out } = await place.cortex(["compact", "trip-1", "s1", "rule", "train", "nobody"]);
    expect(out).toMatch(
      /^No red-eye flights cortex:.*\nTrains leave at nine cortex:.*\nskipped nobody/,
    );
    await place.json(["forget", "train", "--reason", "asked"]);
    const record = (await place.cortex(["context-record", "trip-1", "s1"])).out;
    expect(record).toMatch(/in full\nNo red-eye flights .*\nin brief\n\[forgotten\] cortex:/);
    const missing = await place.cortex(["context-record", "trip-1", "s2", "--json"]);
    expect(JSON.parse(missing.err)).toMatchObject({ error: { code: "ERR_NOT_FOUND" } });
  });
});
