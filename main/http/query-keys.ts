import { z } from 'zod';
import type { Call } from '../../protocol/call.ts';

/** A key that no call of this path takes, with the known one that it resembles. */
export interface UnknownKey {
  readonly field: string;
  readonly message: string;
}

/** Finds keys of a query that the schema of a call does not have: a misspelt filter would otherwise select everything. */
export function unknownKeys({ query }: Call, sent: object): readonly UnknownKey[] {
  if (!(query instanceof z.ZodObject)) return [];
  const known = Object.keys(query.shape);
  return Object.keys(sent)
    .filter(key => !known.includes(key))
    .map(key => ({ field: key.slice(0, 100), message: messageFor(key, known) }));
}

function messageFor(key: string, known: readonly string[]): string {
  if (known.length === 0) return 'this call takes no query';
  const [nearest] = known
    .map(name => ({ name, distance: distanceOf(key.toLowerCase().slice(0, 40), name) }))
    .filter(
      ({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)) || name.startsWith(key),
    )
    .toSorted((a, b) => a.distance - b.distance);
  return nearest === undefined
    ? `unknown key; this call takes ${known.join(', ')}`
    : `unknown key; did you mean \`${nearest.name}\`?`;
}

/** How many letters have to be changed, added or left out (Levenshtein). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_none, at) => at);
  for (const [line, letter] of a.split('').entries()) {
    const next = [line + 1];
    for (const [at, other] of b.split('').entries())
      next.push(
        Math.min((next[at] ?? 0) + 1, (row[at + 1] ?? 0) + 1, (row[at] ?? 0) + (letter === other ? 0 : 1)),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}
