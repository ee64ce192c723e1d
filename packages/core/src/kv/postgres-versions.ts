/**
 * Versions of the tables: who makes and changes them, and who may use them.
 *
 * Promises: one process makes a step, in one transaction that holds the row of the version; others wait there, and
 * find it made. Processes of two releases use the same tables side by side where the step says so: it may then only add
 * what statements of the release before do not stumble over. Anybody older is refused by `ERR_FORMAT_NEWER`.
 */
import { CortexError } from "../errors.js";
import type { PostgresAddress } from "./postgres-address.js";
import {
  HAS_VERSION,
  IS_READ_ONLY,
  LOCK_VERSION,
  READ_VERSION,
  STEPS,
  type TableStep,
  VERSION_ROW,
  VERSION_TABLE,
  versionMoved,
} from "./postgres-schema.js";
import type { Session } from "./postgres-session.js";
import { BEGIN_WRITE, COMMIT, ROLLBACK, type Statement, setLocal } from "./postgres-tables.js";
import { type Answer, codeOf, readOnlyServer } from "./postgres-wire.js";

/** How long the making of tables may wait for another process that is at it. */
const MIGRATION_LOCK_MS = 120_000;

/** That a table is there, as the server says it: its name, its row in the catalogue, or its row type. */
const CREATED_ALREADY: readonly string[] = ["42P07", "23505", "42710"];

/** What preparing needs. */
interface PrepareOptions {
  readonly address: PostgresAddress;
  /** Whether tables are made where there are none. */
  readonly create: boolean;
  /** What opens a transaction on this connection. */
  readonly opening: (begin: Statement, more: readonly Statement[]) => readonly Statement[];
  /** The steps that this release knows. */
  readonly steps?: readonly TableStep[];
}

/** Sees to it that the tables are there, of a version that this release may use. */
export async function prepareTables(session: Session, options: PrepareOptions): Promise<void> {
  const { address, create, steps = STEPS } = options;
  const [found] = await session.run([HAS_VERSION]);
  const [version] = numberAt(found) > 0 ? await session.run([READ_VERSION]) : [];
  if (isUsable(version, address, steps)) return;
  const [readOnly] = await session.run([IS_READ_ONLY]);
  if (readOnly?.[0]?.[0] === true) throw readOnlyServer(address);
  if (!create) throw noTables(address);
  await migrate(session, options, steps);
}

/** Refuses tables that are not, or no more, of a version that this release may use. */
export async function requireUsable(
  address: PostgresAddress,
  read: (statement: Statement) => Promise<Answer>,
): Promise<void> {
  const version = await read(READ_VERSION);
  if (!isUsable(version, address, STEPS)) throw noTables(address);
}

/** Makes what is missing: one process does it, others wait at the row of the version. */
async function migrate(
  session: Session,
  { address, opening }: PrepareOptions,
  steps: readonly TableStep[],
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await session.run([{ text: VERSION_TABLE }, { text: VERSION_ROW }]);
      break;
    } catch (error) {
      // Two that create one table at once: the second is told so, and finds it there.
      if (attempt >= 5 || !CREATED_ALREADY.includes(codeOf(error))) throw error;
    }
  }
  const patience = setLocal("lock_timeout", `${MIGRATION_LOCK_MS}`);
  try {
    const begun = opening(BEGIN_WRITE, [patience]);
    const answers = await session.run([...begun, LOCK_VERSION, READ_VERSION]);
    const found = answers.at(-1);
    if (!isUsable(found, address, steps)) {
      const missing = steps.filter(({ to }) => to > numberAt(found));
      for (const step of missing) {
        const texts = [...step.statements(address.partitions), ...versionMoved(step)];
        await session.run(texts.map((text) => ({ text })));
      }
    }
    await session.run([COMMIT]);
  } catch (error) {
    await session.run([ROLLBACK]).catch(() => {});
    throw error;
  }
}

function numberAt(answer: Answer | undefined, column = 0): number {
  return Number(answer?.[0]?.[column] ?? 0);
}

/** Whether the tables can be used as they are; false where steps are missing. */
function isUsable(
  answer: Answer | undefined,
  address: PostgresAddress,
  steps: readonly TableStep[],
): boolean {
  const [version, oldest] = [numberAt(answer), numberAt(answer, 1)];
  const known = steps.at(-1)?.to ?? 0;
  if (version < known) return false;
  if (oldest <= known) return true;
  throw new CortexError(
    "ERR_FORMAT_NEWER",
    `${address.shown}: the tables are of version ${version}, this release knows ${known}; use a newer release`,
  );
}

function noTables(address: PostgresAddress): CortexError {
  return new CortexError("ERR_FORMAT_UNKNOWN", `${address.shown} holds no Cortex store`);
}
