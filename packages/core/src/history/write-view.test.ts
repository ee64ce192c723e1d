/** What a view of a commit tells of rows: read, changed, taken back, and not known. */
import { expect, test } from "vitest";
import { idKey, ownedPrefix, prefixRange, versionKey } from "../kv/keyspace.js";
import { Unread, WriteView } from "./write-view.js";

const id = (number: number) => new Uint8Array(16).fill(number);

test("names what is missing by a key of its own: whoever asks may use the array again", () => {
  const key = idKey("memory", id(1));
  const asked = key.slice();
  let unread: unknown;
  try {
    new WriteView().get(key);
  } catch (error) {
    unread = error;
  }
  key.fill(0);
  expect(unread).toBeInstanceOf(Unread);
  expect((unread as Unread).keys).toEqual([asked]);
});

test("takes changes back to a mark, from rows, from ranges and from the commit", () => {
  const view = new WriteView();
  const [one, two] = [idKey("memory", id(1)), idKey("memory", id(2))];
  const range = prefixRange(ownedPrefix("version", id(1)), 8);
  view.load([one, two], [Uint8Array.of(1), undefined]);
  view.loadRanges([range], [[{ key: versionKey(id(1), 2), value: Uint8Array.of(2) }]]);
  view.put(versionKey(id(1), 3), Uint8Array.of(3));
  const mark = view.mark();
  view.put(two, Uint8Array.of(7));
  view.delete(one);
  view.put(versionKey(id(1), 3), Uint8Array.of(4));
  view.put(versionKey(id(1), 4), Uint8Array.of(5));
  view.put(versionKey(id(2), 4), Uint8Array.of(6));
  const values = () => view.range(range).map(({ value }) => value[0]);
  expect([view.get(one), view.get(two)?.[0], values()]).toEqual([undefined, 7, [2, 4, 5]]);
  expect(view.changes().deletes).toEqual([one]);
  view.rollback(mark);
  expect([view.get(one)?.[0], view.get(two), values()]).toEqual([1, undefined, [2, 3]]);
  expect(view.isChanged(two)).toBe(false);
  view.put(versionKey(id(1), 4), Uint8Array.of(9));
  expect(values()).toEqual([2, 3, 9]);
  const { puts, deletes, isNew } = view.changes();
  expect(puts.map(({ value }) => value[0])).toEqual([3, 9]);
  expect(deletes).toEqual([]);
  expect([one, two].map(isNew)).toEqual([false, true]);
});
