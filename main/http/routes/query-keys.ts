import { z } from 'zod';
import type { Call } from '../../../protocol/call.ts';
import { nearestName } from '../../../protocol/nearest-name.ts';

/** A query key that the call does not accept, with the most similar known key in `message`. */
export interface UnknownKey {
  readonly field: string;
  readonly message: string;
}

/** Returns the query keys that the schema of the call does not have. A misspelt filter would otherwise select everything. */
export function unknownKeys({ query }: Call, sent: object): readonly UnknownKey[] {
  if (!(query instanceof z.ZodObject)) return [];
  const known = Object.keys(query.shape);
  return Object.keys(sent)
    .filter(key => !known.includes(key))
    .map(key => ({ field: key.slice(0, 100), message: messageFor(key, known) }));
}

function messageFor(key: string, known: readonly string[]): string {
  if (known.length === 0) return 'this call takes no query';
  const nearest = nearestName(key, known);
  return nearest === null
    ? `unknown key; this call takes ${known.join(', ')}`
    : `unknown key; did you mean \`${nearest}\`?`;
}
