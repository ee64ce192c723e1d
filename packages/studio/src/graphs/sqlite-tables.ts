/**
 * The tables of a SQLite file, read from its first pages in the browser: enough to tell whose file it is, and
 * nothing of what it holds. The file is not trusted: whatever does not fit ends the reading.
 */

/** Pages of the schema that are read; a program with more tables than these hold is none that is known. */
const PAGES_MAX = 64;

const LEAF = 0x0d;
const INTERIOR = 0x05;

/** The names of its tables; none where the file is broken, or keeps them in its log. */
export async function tablesIn(file: Pick<Blob, "slice">): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  const size = pageSize(await bytesOf(file, 0, 100));
  const left = [1];
  // A page may be named twice by a file that wants to be read for ever.
  const seen = new Set<number>();
  while (left.length > 0 && seen.size < PAGES_MAX) {
    const page = left.pop() ?? 1;
    if (seen.has(page)) continue;
    seen.add(page);
    try {
      const bytes = await bytesOf(file, (page - 1) * size, size);
      left.push(...readPage(bytes, page === 1 ? 100 : 0, names));
    } catch (error) {
      // A page that points beyond its end is broken.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return names;
}

async function bytesOf(file: Pick<Blob, "slice">, from: number, many: number): Promise<DataView> {
  return new DataView(await file.slice(from, from + many).arrayBuffer());
}

function pageSize(header: DataView): number {
  const said = header.byteLength < 18 ? 0 : header.getUint16(16);
  return said === 1 ? 65_536 : said;
}

/** Reads one page of the schema: names of tables into `names`; answers the pages below it. */
function readPage(page: DataView, start: number, names: Set<string>): readonly number[] {
  const kind = page.getUint8(start);
  if (kind !== LEAF && kind !== INTERIOR) return [];
  const cells = page.getUint16(start + 3);
  const first = start + (kind === LEAF ? 8 : 12);
  const below: number[] = kind === INTERIOR ? [page.getUint32(start + 8)] : [];
  for (let at = 0; at < cells; at++) {
    const cell = page.getUint16(first + 2 * at);
    if (kind === INTERIOR) below.push(page.getUint32(cell));
    else readCell(page, cell, names);
  }
  return below;
}

/** A row of the schema: its kind, its name, and more that is not needed. */
function readCell(page: DataView, cell: number, names: Set<string>): void {
  const payload = varint(page, varint(page, cell).next).next;
  const header = varint(page, payload);
  const kind = varint(page, header.next);
  const name = varint(page, kind.next);
  const values = payload + header.value;
  const nameFrom = values + textLength(kind.value);
  if (textAt(page, values, textLength(kind.value)) !== "table") return;
  names.add(textAt(page, nameFrom, textLength(name.value)));
}

/** The bytes of a text, by the number that says what a value is; other values have none. */
function textLength(serial: number): number {
  return serial >= 13 && serial % 2 === 1 ? (serial - 13) / 2 : 0;
}

function textAt(page: DataView, from: number, many: number): string {
  return new TextDecoder().decode(new Uint8Array(page.buffer, from, many));
}

/** A number of one to nine bytes, seven bits each; numbers of schemas need four at the most. */
function varint(page: DataView, from: number): { readonly value: number; readonly next: number } {
  let value = 0;
  for (let at = 0; at < 9; at++) {
    const byte = page.getUint8(from + at);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, next: from + at + 1 };
  }
  throw new RangeError("a number without an end");
}
