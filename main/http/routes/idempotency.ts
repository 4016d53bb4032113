import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { plainIssues } from '../../../protocol/plain-issue.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { IdempotencyKey } from '../../../protocol/queue-api.ts';

/** Returns the idempotency key of a submission and the hash of its body; null without a key. */
export function keyOf(
  inBody: string | undefined,
  request: Request,
  body: object,
): Outcome<{ readonly key: string; readonly fingerprint: string } | null> {
  const key = readKey(inBody, request);
  if (!key.ok) return key;
  return accept(key.value === null ? null : { key: key.value, fingerprint: fingerprintOf(body) });
}

/** Reads the key from the body or the header. Refuses a request whose body and header have different keys. */
function readKey(inBody: string | undefined, request: Request): Outcome<string | null> {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return accept(inBody ?? null);
  const key = IdempotencyKey.safeParse(header, plainIssues);
  if (!key.success)
    return refuse('invalid_request', `Idempotency-Key: ${key.error.issues[0]?.message ?? ''}`);
  if (inBody === undefined || inBody === key.data) return accept(key.data);
  return refuse('invalid_request', 'Idempotency-Key: the header and the body name different keys');
}

/** Hashes the whole body of a submission, except `dry_run`. The order of its keys does not matter. */
const fingerprintOf = (body: object): string =>
  createHash('sha256')
    .update(JSON.stringify({ ...body, dry_run: undefined }, sortedKeys))
    .digest('hex');

const sortedKeys = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
