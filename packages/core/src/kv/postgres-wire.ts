/**
 * What goes over the wire to a Postgres server, and what its failures mean.
 *
 * Promises: any number of statements is one message and one round trip; bytes travel in binary on the way there,
 * and are copied once: the message is written here, `pg` sends it and reads the answers. A failure is a
 * `CortexError` that says what to do; `isPassing` says whether it may pass by itself.
 */
import { createHash } from "node:crypto";
import type { Connection, Submittable } from "pg";
import { CortexError, type ErrorCode } from "../errors.js";
import type { Column, SqlValue, Statement } from "./postgres-tables.js";

/** One value of an answer. */
type Cell = number | boolean | string | Uint8Array | undefined;
/** The rows of one statement. */
export type Answer = readonly (readonly Cell[])[];

/** The part of an address that may be shown. */
interface Shown {
  readonly shown: string;
}

/** Several statements sent at once; `pg` calls it back as answers come. */
export class Message implements Submittable {
  readonly #statements: readonly Statement[];
  readonly #resolve: (answers: Answer[]) => void;
  readonly #reject: (error: unknown) => void;
  readonly #answers: Cell[][][] = [[]];
  readonly #names: Map<string, string> | undefined;
  #connection: Connection | undefined;

  /** `names` are the statements that the connection knows by name; without it each is sent whole. */
  constructor(
    statements: readonly Statement[],
    resolve: (answers: Answer[]) => void,
    reject: (error: unknown) => void,
    names?: Map<string, string>,
  ) {
    this.#statements = statements;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#names = names;
  }

  /** Where it was written; `undefined` until then. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** By `pg`, when its turn has come: it may have been sent before. */
  submit(connection: Connection): void {
    if (this.#connection === undefined) this.send(connection);
  }

  send(connection: Connection): void {
    this.#connection = connection;
    const steps = this.#statements.map(({ text, values }) => this.#step(text, values));
    if (connection.stream.writable) connection.stream.write(encodeSteps(steps));
  }

  /** A statement is parsed unless the connection has it; one without values is done as fast unnamed. */
  #step(text: string, values: readonly SqlValue[] | undefined): Step {
    const given = values === undefined ? [] : values.map(sent);
    const known = this.#names?.get(text);
    if (known !== undefined) return { name: known, values: given };
    const isCommon = this.#names !== undefined && values !== undefined;
    const name = isCommon ? statementName(text) : "";
    if (isCommon) this.#names.set(text, name);
    return { name, text, values: given };
  }

  handleDataRow(row: { readonly fields: readonly (string | null)[] }): void {
    const at = this.#answers.length - 1;
    const columns = this.#statements[at]?.columns ?? [];
    this.#answers[at]?.push(columns.map((column, index) => received(column, row.fields[index])));
  }

  handleCommandComplete(): void {
    this.#answers.push([]);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#answers.slice(0, this.#statements.length));
  }

  handleError(error: unknown): void {
    this.#reject(error);
  }

  handleRowDescription(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}

/**
 * A statement's name follows from its text: a pooler may hand us a connection on which somebody else gave names, and the
 * same name must not mean another statement there.
 */
function statementName(text: string): string {
  return `cortex_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
}

/** A value on its way: text, bytes or a list of bytes in binary, or nothing. */
type Sent = string | Uint8Array | readonly (Uint8Array | undefined)[] | null;

/** A statement of a message; `text` where it is parsed first. */
interface Step {
  readonly name: string;
  readonly text?: string;
  readonly values: readonly Sent[];
}

function sent(value: SqlValue): Sent {
  if (typeof value === "number") return String(value);
  if (value === null || typeof value === "string" || value instanceof Uint8Array) return value;
  const [first] = value;
  if (typeof first === "number" || typeof first === "boolean") return `{${value.join(",")}}`;
  if (typeof first === "string") return `{${value.map((one) => JSON.stringify(one)).join(",")}}`;
  return value as readonly (Uint8Array | undefined)[];
}

/** Parse, bind and execute of the protocol for each statement, and the sync that ends the message. */
function encodeSteps(steps: readonly Step[]): Buffer {
  let length = SYNC.length;
  for (const step of steps) length += stepBytes(step);
  const buffer = Buffer.allocUnsafe(length);
  let at = 0;
  for (const step of steps) at = writeStep(buffer, at, step);
  buffer.set(SYNC, at);
  return buffer;
}

/** Unnamed portal, all of its rows. */
const EXECUTE = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const BYTEA_TYPE = 17;

function stepBytes({ name, text, values }: Step): number {
  const parse = text === undefined ? 0 : 1 + parseBytes(name, text);
  return parse + 1 + bindBytes(name, values) + EXECUTE.length;
}

/** Without the byte of its kind: length, name, text, no types. */
function parseBytes(name: string, text: string): number {
  return 4 + name.length + 1 + Buffer.byteLength(text) + 1 + 2;
}

/** The same: length, no portal, name, formats, values, and that answers are text. */
function bindBytes(name: string, values: readonly Sent[]): number {
  let bytes = 4 + 1 + name.length + 1 + 2 + 2 * values.length + 2 + 2;
  for (const value of values) bytes += 4 + valueBytes(value);
  return bytes;
}

function valueBytes(value: Sent): number {
  if (value === null) return 0;
  if (typeof value === "string") return Buffer.byteLength(value);
  if (value instanceof Uint8Array) return value.length;
  if (value.length === 0) return 12;
  let bytes = 20;
  for (const item of value) bytes += 4 + (item?.length ?? 0);
  return bytes;
}

function writeStep(buffer: Buffer, start: number, { name, text, values }: Step): number {
  let at = start;
  if (text !== undefined) {
    buffer[at] = 0x50;
    at = buffer.writeInt32BE(parseBytes(name, text), at + 1);
    at = writeName(buffer, at, name);
    at = writeName(buffer, at, text);
    at = buffer.writeInt16BE(0, at);
  }
  buffer[at] = 0x42;
  at = buffer.writeInt32BE(bindBytes(name, values), at + 1);
  at = writeName(buffer, at, "");
  at = writeName(buffer, at, name);
  at = buffer.writeInt16BE(values.length, at);
  for (const value of values) at = buffer.writeInt16BE(typeof value === "string" ? 0 : 1, at);
  at = buffer.writeInt16BE(values.length, at);
  for (const value of values) at = writeValue(buffer, at, value);
  at = buffer.writeInt16BE(0, at);
  buffer.set(EXECUTE, at);
  return at + EXECUTE.length;
}

function writeName(buffer: Buffer, at: number, text: string): number {
  const end = at + buffer.write(text, at);
  buffer[end] = 0;
  return end + 1;
}

function writeValue(buffer: Buffer, start: number, value: Sent): number {
  const at = buffer.writeInt32BE(value === null ? -1 : valueBytes(value), start);
  if (value === null) return at;
  if (typeof value === "string") return at + buffer.write(value, at);
  if (!(value instanceof Uint8Array)) return writeList(buffer, at, value);
  buffer.set(value, at);
  return at + value.length;
}

/** Dimensions, whether there are nulls, type of the items, length, lower bound; then each with its length. */
function writeList(
  buffer: Buffer,
  start: number,
  items: readonly (Uint8Array | undefined)[],
): number {
  let at = buffer.writeInt32BE(items.length === 0 ? 0 : 1, start);
  at = buffer.writeInt32BE(items.includes(undefined) ? 1 : 0, at);
  at = buffer.writeInt32BE(BYTEA_TYPE, at);
  if (items.length === 0) return at;
  at = buffer.writeInt32BE(items.length, at);
  at = buffer.writeInt32BE(1, at);
  for (const item of items) {
    at = buffer.writeInt32BE(item?.length ?? -1, at);
    if (item === undefined) continue;
    buffer.set(item, at);
    at += item.length;
  }
  return at;
}

function received(column: Column, text: string | null | undefined): Cell {
  if (text === null || text === undefined) return undefined;
  switch (column) {
    case "int":
      return Number(text);
    case "bool":
      return text === "t";
    case "bytes":
      return bytesIn(text);
    case "text":
      return text;
  }
}

/** Bytes written as "\\x" and two digits each; a plain array, as the other backends give. */
function bytesIn(text: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(text.slice(2), "hex");
  return new Uint8Array(buffer, byteOffset, length);
}

/** The code of a failure: five characters of the server's, or a name of the system's. */
export function codeOf(error: unknown): string {
  const code = error instanceof Object && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** Whether the connection went, or the server is not to be had right now: it may be there again soon. */
export function isPassing(error: unknown): boolean {
  const cause = error instanceof CortexError ? (error.cause ?? error) : error;
  const code = codeOf(cause);
  if (/^(08|57P|E[A-Z])/.test(code) && !code.startsWith("ERR_")) return true;
  if (code === "53300" || isLostName(cause)) return true;
  return code === "" && cause instanceof Error && /connection|timeout/i.test(cause.message);
}

/** Whether a pooler has handed us a connection that does not know our statements, or knows others. */
export function isLostName(error: unknown): boolean {
  return ["26000", "42P05"].includes(codeOf(error));
}

/** Whether a row was to be added that is there. */
export function isDuplicate(error: unknown): boolean {
  return codeOf(error instanceof CortexError ? error.cause : error) === "23505";
}

/** Whether somebody else kept a lock for longer than was waited for. */
export function isContended(error: unknown): boolean {
  return codeOf(error instanceof CortexError ? error.cause : error) === "55P03";
}

/** Whether the server undid a transaction that would have gone through alone. */
export function isRefusedRace(error: unknown): boolean {
  const cause = error instanceof CortexError ? error.cause : error;
  return ["40001", "40P01"].includes(codeOf(cause));
}

/** Whether a pooler refuses settings at the start of a connection. */
export function isUnsupportedSetting(error: unknown): boolean {
  const cause = error instanceof CortexError ? error.cause : error;
  return cause instanceof Error && /unsupported startup parameter/.test(cause.message);
}

/** The failure of a write where none is taken. */
export function readOnlyServer(address: Shown, cause?: unknown): CortexError {
  return new CortexError(
    "ERR_READ_ONLY",
    `${address.shown} takes no writes: it is a standby or set read-only; use the address of the primary`,
    {},
    cause,
  );
}

/** What is wrong with TLS, and what to do about it; `undefined` where it is something else. */
function tlsAdvice(code: string, told: string): string | undefined {
  if (/does not support SSL/.test(told)) {
    return "the server takes no TLS; switch ssl on there, or leave sslmode out of the address where nobody can listen";
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `the server's certificate is for another name (${told}); use the name that it is for in the address, or give the server a certificate for this one`;
  }
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(code)) {
    return `the server's certificate is not valid now (${told}); renew it, or set the clock right`;
  }
  if (/CERT|SIGNATURE/.test(code)) {
    return `the server's certificate is not trusted (${told}); name its authority with sslrootcert=FILE`;
  }
  if (code === "28000" && /no encryption|SSL off/.test(told)) {
    return `the server takes this user with TLS alone, or not at all (${told}); add sslmode=verify-full to the address, or look at pg_hba.conf`;
  }
  return undefined;
}

/** What a failure of the server or of the way there means, and what to do about it. */
export function postgresError(error: unknown, address: Shown): CortexError {
  if (error instanceof CortexError) return error;
  const code = codeOf(error);
  const { shown } = address;
  const told = error instanceof Error ? error.message : String(error);
  const failure = (name: ErrorCode, message: string): CortexError =>
    new CortexError(name, message, {}, error);
  const tls = tlsAdvice(code, told);
  if (tls !== undefined) return failure("ERR_UNREACHABLE", `${shown}: ${tls}`);
  if (/client password must be/.test(told)) {
    return failure(
      "ERR_UNREACHABLE",
      `${shown}: the server asks for a password and none is given; put it into the address, PGPASSWORD or ~/.pgpass`,
    );
  }
  switch (code) {
    case "28P01":
    case "28000":
      return failure(
        "ERR_UNREACHABLE",
        `${shown}: the server refuses this user (${told}); check user and password of the address and the server's pg_hba.conf`,
      );
    case "3D000":
      return failure("ERR_UNREACHABLE", `${shown}: ${told}; create it with createdb`);
    case "53300":
      return failure(
        "ERR_UNREACHABLE",
        `${shown}: the server has no connection left (${told}); lower ?pool= of the addresses, raise max_connections or use a pooler`,
      );
    case "25006":
      return readOnlyServer(address, error);
    case "53100":
      return failure(
        "ERR_DISK_FULL",
        `${shown}: the disk of the server is full; nothing was written`,
      );
    case "42501":
      return failure(
        "ERR_STORAGE",
        `${shown}: ${told}; grant the role what docs/postgres.md lists, or let its owner open the address once`,
      );
    case "42P01":
      return failure("ERR_FORMAT_UNKNOWN", `${shown} holds no Cortex store: ${told}`);
    case "55P03":
      return failure("ERR_CONTENDED", `${shown}: another writer kept its lock for too long`);
    case "25P03":
      return failure("ERR_CLOSED", "the snapshot was held for too long");
    default:
  }
  if (isPassing(error)) {
    return failure(
      "ERR_UNREACHABLE",
      `${shown} cannot be reached: ${told}; is the server running?`,
    );
  }
  return failure("ERR_STORAGE", `${shown}: ${told}`);
}
