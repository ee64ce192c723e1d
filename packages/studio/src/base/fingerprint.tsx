/**
 * A hash as people notice it: a few signs in groups, and a picture made of all its bytes. Two roots that
 * differ in one bit are other hashes altogether, so their pictures differ at a glance.
 */

/** The first signs of a hash, in groups of four. */
export function shortHash(hex: string, groups = 4): string {
  return (hex.slice(0, 4 * groups).match(/.{1,4}/g) ?? []).join(" ");
}

/** The hex of a hash that is written in base64, as checkpoints write it. */
export function hexOfBase64(text: string): string {
  return [...atob(text)].map((sign) => sign.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}

/** Columns of one half; the other half is its mirror, which is what makes it a picture. */
const HALF = 4;

/** The signs and the picture. */
export function Fingerprint({ hex, size = 48 }: { readonly hex: string; readonly size?: number }) {
  const bytes = (hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  const hue = ((bytes[0] ?? 0) * 256 + (bytes[1] ?? 0)) % 360;
  const rows = Math.ceil(bytes.length / HALF);
  return (
    <span className="fingerprint">
      <svg
        className="fingerprint-picture"
        width={size}
        height={size}
        viewBox={`0 0 ${2 * HALF} ${rows}`}
        aria-hidden="true"
      >
        {bytes.flatMap((byte, at) => {
          const [x, y] = [at % HALF, Math.floor(at / HALF)];
          // Three strengths are told apart at this size; more are not.
          const strength = Math.floor(byte / 86);
          return [x, 2 * HALF - 1 - x].map((column) => (
            <rect
              key={`${column}-${y}`}
              x={column}
              y={y}
              width={1}
              height={1}
              fill={`hsl(${(hue + (byte % 3) * 40) % 360} 60% ${[82, 55, 32][strength]}%)`}
            />
          ));
        })}
      </svg>
      <code title={hex}>{shortHash(hex)}</code>
    </span>
  );
}
