/**
 * The runtime state of goals: what a scheduler notes about a goal it pursues. Journaled like
 * everything else, owned by the goal, outside the memory itself. Counters of a day are read as those of
 * today: what was counted on an earlier day is zero, whether or not anybody wrote that down.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import type { GoalChange, GoalWithState } from "../contract/goals.js";
import type { Asked } from "../contract/index.js";
import { subject } from "../engine/drafts.js";
import {
  type Engine,
  findIds,
  locateLiving,
  memoryId,
  parseRef,
  refKeys,
} from "../engine/engine.js";
import { keptWhole } from "../engine/idempotency.js";
import { ask } from "../engine/read-ahead.js";
import { aWord, refusal } from "../errors.js";
import { decodePointer } from "../history/pointers.js";
import { Reader, scan } from "../history/reader.js";
import type { WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, KEYSPACE } from "../kv/keyspace.js";
import { type GoalState, stateAt } from "../records/frames.js";

/** The state of a goal; `undefined` when none was written. */
export async function goalState(
  engine: Engine,
  { id: ref }: Asked<"goalState">,
): Promise<GoalState | undefined> {
  const parsed = parseRef(engine, ref, "id");
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [id] = await findIds(reader, [parsed]);
    if (id === undefined) return undefined;
    const [row] = await reader.getMany([idKey("goalState", id)]);
    if (row === undefined) return undefined;
    const [found] = await reader.records([decodePointer(row)], decodeState);
    return found === undefined ? undefined : stateAt(found.record, engine.clock());
  });
}

/** Writes the whole state of a goal. */
export async function setGoalState(
  engine: Engine,
  asked: Asked<"setGoalState">,
): Promise<GoalChange> {
  return changeGoal(engine, asked, (tx, id, by) => {
    const record = encode(asked.state as unknown as CborValue);
    tx.append({
      kind: "goal_state",
      by,
      parts: [{ subject: subject(SUBJECT.goalState, id), record }],
    });
  });
}

/** Takes the state of a goal away; a goal without one is left as it is. */
export async function deleteGoalState(
  engine: Engine,
  asked: Asked<"deleteGoalState">,
): Promise<GoalChange> {
  return changeGoal(engine, asked, (tx, id, by) => {
    if (tx.view.get(idKey("goalState", id)) === undefined) return;
    tx.append({
      kind: "goal_state",
      by,
      parts: [{ subject: subject(SUBJECT.goalState, id), record: null }],
    });
  });
}

/** Every goal with a state, in the order of ids. */
export async function goalStates(engine: Engine): Promise<readonly GoalWithState[]> {
  const nowMs = engine.clock();
  return Reader.with(engine.kv, undefined, async (reader) => {
    const rows: { readonly id: Uint8Array; readonly pointer: ReturnType<typeof decodePointer> }[] =
      [];
    for await (const { key, value } of scan(
      reader.snapshot,
      Uint8Array.of(KEYSPACE.goalState.byte),
    )) {
      rows.push({ id: key.subarray(1), pointer: decodePointer(value) });
    }
    const states = await reader.records(
      rows.map(({ pointer }) => pointer),
      decodeState,
    );
    return rows.flatMap(({ id }, at) => {
      const state = states[at];
      return state === undefined ? [] : [{ id: memoryId(id), state: stateAt(state.record, nowMs) }];
    });
  });
}

async function changeGoal(
  engine: Engine,
  { id: ref, by = engine.principal }: Asked<"deleteGoalState">,
  change: (tx: WriteTx, id: Uint8Array, by: string) => void,
): Promise<GoalChange> {
  const parsed = parseRef(engine, ref, "id");
  const { value } = await engine.writer.submit({
    again: keptWhole<GoalChange>(),
    hints: [
      ...refKeys(parsed),
      ...(parsed.id === undefined ? [] : [idKey("goalState", parsed.id)]),
    ],
    run: (tx) => {
      const found = locateLiving(tx, parsed, "id");
      if (found.row.type !== "goal") {
        throw refusal("ERR_INVALID", "id", "a goal", aWord(found.row.type));
      }
      ask(tx, [idKey("goalState", found.id)]);
      change(tx, found.id, by);
      return { id: memoryId(found.id), seq: tx.nextSeq() - 1 };
    },
  });
  return value;
}

function decodeState(bytes: Uint8Array): GoalState {
  // A plain object like every other answer: what the codec gives has no prototype.
  return { ...(decode(bytes) as unknown as GoalState) };
}
