/**
 * Two kinds of picture as SVG text, drawn without a browser: bars of one figure, and lines over a growing
 * size. Both have logarithmic scales, because the programs lie orders of magnitude apart. The same figures
 * give the same bytes.
 */

const WIDTH = 720;
const OURS = "#2563eb";
const THEIRS = "#9ca3af";
const INK = "#374151";

/**
 * @param {string} title
 * @param {string} unit
 * @param {readonly { readonly label: string, readonly value: number, readonly isOurs: boolean }[]} bars
 */
export function drawBars(title, unit, bars) {
  const [left, top, line] = [170, 44, 30];
  const [low, high] = decades(bars.map(({ value }) => value));
  const x = (/** @type {number} */ value) =>
    left + ((Math.log10(value) - low) / (high - low)) * (WIDTH - left - 90);
  const parts = bars.map(({ label, value, isOurs }, at) => {
    const y = top + at * line;
    const width = number(Math.max(2, x(value) - left));
    return [
      text(left - 8, y + 15, label, "end"),
      `<rect x="${left}" y="${y + 2}" width="${width}" height="${line - 10}" rx="2" fill="${isOurs ? OURS : THEIRS}"/>`,
      text(left + Number(width) + 6, y + 15, Math.round(value).toLocaleString("en"), "start"),
    ].join("");
  });
  const height = top + bars.length * line + 24;
  return svg(title, height, [...parts, text(left, height - 8, `${unit}, logarithmic`, "start")]);
}

/**
 * @param {string} title
 * @param {string} unit
 * @param {readonly {
 *   readonly label: string,
 *   readonly points: readonly { readonly x: number, readonly y: number }[],
 *   readonly isOurs: boolean,
 * }[]} lines
 */
export function drawLines(title, unit, lines) {
  const [left, right, top, bottom] = [70, 190, 44, 330];
  const points = lines.flatMap((one) => one.points);
  const [fromX, toX] = decades(points.map((point) => point.x));
  const [fromY, toY] = decades(points.map((point) => point.y));
  const x = (/** @type {number} */ value) =>
    number(left + ((Math.log10(value) - fromX) / (toX - fromX)) * (WIDTH - left - right));
  const y = (/** @type {number} */ value) =>
    number(bottom - ((Math.log10(value) - fromY) / (toY - fromY)) * (bottom - top));
  const grid = range(fromY, toY).map((power) => {
    const at = y(10 ** power);
    const label = (10 ** power).toLocaleString("en");
    return `<path d="M${left} ${at}H${WIDTH - right}" stroke="#e5e7eb"/>${text(left - 8, Number(at) + 4, label, "end")}`;
  });
  const ticks = range(fromX, toX).map((power) =>
    text(Number(x(10 ** power)), bottom + 18, (10 ** power).toLocaleString("en"), "middle"),
  );
  const drawn = lines.map(({ label, points: own, isOurs }, at) => {
    const path = own
      .map((point, index) => `${index === 0 ? "M" : "L"}${x(point.x)} ${y(point.y)}`)
      .join("");
    const colour = isOurs ? OURS : THEIRS;
    const dash = isOurs ? "" : ` stroke-dasharray="${2 + 2 * at} 3"`;
    const last = own.at(-1);
    const name =
      last === undefined ? "" : text(Number(x(last.x)) + 8, Number(y(last.y)) + 4, label, "start");
    return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"${dash}/>${name}`;
  });
  return svg(title, bottom + 48, [
    ...grid,
    ...ticks,
    ...drawn,
    text(left, bottom + 38, `${unit} by memories in the store, both logarithmic`, "start"),
  ]);
}

/**
 * The powers of ten around some values.
 * @param {readonly number[]} values
 * @returns {[number, number]}
 */
function decades(values) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  return [low, Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))];
}

/**
 * @param {number} from
 * @param {number} to
 */
function range(from, to) {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** @param {number} value */
function number(value) {
  return value.toFixed(1);
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {"start" | "middle" | "end"} anchor
 */
function text(x, y, words, anchor) {
  return `<text x="${number(x)}" y="${number(y)}" text-anchor="${anchor}">${words.replaceAll("&", "&amp;")}</text>`;
}

/**
 * @param {string} title
 * @param {number} height
 * @param {readonly string[]} parts
 */
function svg(title, height, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}" role="img" aria-label="${title}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="12" y="24" font-size="15" font-weight="600">${title}</text>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}
