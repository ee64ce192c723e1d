/** The frames of an export: the same whatever the pieces, and nothing else is let through. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hasherNode } from "../codec/node-crypto.js";
import {
  decodeErased,
  decodeExportHeader,
  decodeExportTrailer,
  encodeErased,
  encodeExportHeader,
  FRAME,
  type Frame,
  frameWriter,
  readFrames,
  startErased,
} from "./export-format.js";

const HEADER = {
  actor: "ada",
  storeId: "0123456789abcdef0123456789abcdef",
  epoch: 2,
  format: 1,
  from: 3,
  fromRoot: new Uint8Array(32).fill(1),
  size: 70_000,
  journalRoot: new Uint8Array(32).fill(2),
  root: new Uint8Array(32).fill(3),
};

function file(payloads: readonly Uint8Array[]): Uint8Array {
  const writer = frameWriter(hasherNode());
  const chunks = payloads.map((payload) => writer.add(FRAME.entry, payload) ?? new Uint8Array(0));
  return Uint8Array.from(
    Buffer.concat([...chunks, writer.end({ entries: payloads.length, root: HEADER.root })]),
  );
}

async function frames(bytes: Uint8Array, pieceBytes: number): Promise<readonly Frame[]> {
  const pieces = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      yield bytes.subarray(at, at + pieceBytes);
      yield new Uint8Array(0);
    }
  };
  const found: Frame[] = [];
  for await (const frame of readFrames(pieces(), hasherNode())) found.push(frame);
  return found;
}

describe("frames", () => {
  test("come back whole from pieces of any size, empty and large ones too", async () => {
    const payloads = [0, 1, 5, 30_000, 2].map((length, at) => new Uint8Array(length).fill(at));
    const bytes = file(payloads);
    for (const pieceBytes of [1, 4, 7, 1000, 1_000_000]) {
      const found = await frames(bytes, pieceBytes);
      expect(found.slice(0, -1).map(({ payload }) => payload.length)).toEqual([0, 1, 5, 30_000, 2]);
      expect(found[3]?.payload).toEqual(payloads[3]);
    }
  });

  test("the trailer holds the sum of every byte before its frame", async () => {
    const bytes = file([Uint8Array.of(1), Uint8Array.of(2)]);
    const last = (await frames(bytes, 100)).at(-1);
    const payload = last?.payload ?? new Uint8Array(0);
    const before = bytes.subarray(0, bytes.length - payload.length - 5);
    const sum = Uint8Array.from(createHash("sha256").update(before).digest());
    expect(decodeExportTrailer(payload)).toEqual({ entries: 2, root: HEADER.root, sum });
    expect(Buffer.from(bytes.subarray(0, 17)).toString()).toBe("cortex-journal 1\n");
  });

  test("a length beyond every row is refused before it is allocated", async () => {
    const bytes = file([Uint8Array.of(1)]);
    bytes[17] = 0xff;
    await expect(frames(bytes, 100)).rejects.toMatchObject({ code: "ERR_EXPORT_MALFORMED" });
  });
});

describe("the header", () => {
  test("reads back as it was written", () => {
    expect(decodeExportHeader(encodeExportHeader(HEADER))).toEqual(HEADER);
  });

  test.each([
    ["no entries", { size: 0, from: 0 }],
    ["an end before its start", { size: 2 }],
    ["a negative epoch", { epoch: -1 }],
  ])("with %s is refused", (_, change) => {
    const payload = encodeExportHeader({ ...HEADER, ...change });
    expect(() => decodeExportHeader(payload)).toThrow(
      expect.objectContaining({ code: "ERR_EXPORT_MALFORMED" }),
    );
  });
});

describe("the list of erased parts", () => {
  test("spans as many frames as it needs", () => {
    const list = startErased();
    for (let seq = 0; seq < 10_000; seq += 1) list.add(seq, seq % 3);
    const payloads = [...encodeErased(list.end())];
    expect(payloads).toHaveLength(3);
    const back = startErased();
    for (const payload of payloads) decodeErased(payload, 10_000, back);
    expect(back.end().length).toBe(10_000);
    expect([...encodeErased(startErased().end())]).toEqual([]);
  });

  test("out of order, or beyond the end, is refused with the seq", () => {
    const list = startErased();
    list.add(5, 0);
    const [payload = new Uint8Array(0)] = encodeErased(list.end());
    const code = "ERR_EXPORT_MALFORMED";
    const refused = expect.objectContaining({ code, details: { seq: 5 } });
    expect(() => decodeErased(payload, 5, startErased())).toThrow(refused);
    const back = startErased();
    decodeErased(payload, 6, back);
    expect(() => decodeErased(payload, 6, back)).toThrow(refused);
  });
});
