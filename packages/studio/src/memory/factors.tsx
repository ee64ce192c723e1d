/**
 * Why a memory matters: each factor of its salience as a bar, its weight beside it, and what age leaves
 * of the sum.
 */
import { count, percent, Time } from "../base/format.tsx";
import type { Inspected } from "../base/reads.ts";

const ABOUT = {
  recency: "used or changed lately",
  access: "how often it was used",
  citations: "how often it was cited",
  importance: "what its writer said",
  similarity: "near to the question",
} as const;

/** The factors. */
export function Factors({
  salience,
  counters,
}: {
  readonly salience: NonNullable<Inspected["salience"]>;
  readonly counters: Inspected["counters"];
}) {
  const { score, factors, weights, decay, pinned } = salience;
  const names = Object.keys(ABOUT) as (keyof typeof ABOUT)[];
  return (
    <>
      <p>
        <strong>{score.toFixed(2)}</strong> of 1{pinned && ": pinned, so it never falls below 0.70"}
        {decay < 1 && ` · age leaves ${percent(decay)} of it`}
      </p>
      <table className="bars">
        <tbody>
          {names.map((name) => {
            const value = factors[name];
            return value === undefined ? null : (
              <tr key={name}>
                <th scope="row" title={ABOUT[name]}>
                  {name}
                </th>
                <td className="bar-cell">
                  <span className="bar" style={{ width: percent(value) }} />
                </td>
                <td className="number">{value.toFixed(2)}</td>
                <td className="number about">× {weights[name].toFixed(2)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {counters !== undefined && (
        <p className="about">
          Said again {count(counters.reinforced)}, used {count(counters.accessed)}, cited{" "}
          {count(counters.cited)} times, last <Time ms={counters.lastUsedAt} />.
        </p>
      )}
    </>
  );
}
