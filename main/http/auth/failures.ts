import type { Request } from 'express';
import { type ProblemCode, type Refusal, refuse } from '../../../protocol/problem.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import { type Caller, hashOf, secretOf } from './auth.ts';
import { addressOf } from './client-address.ts';
import { type FailureLimit, networkOf } from './failure-limit.ts';

/** Returns the refusal to send: the original one, or "too many failures". `caller` is present once it is authenticated. */
export type OnRefused = (request: Request, refusal: Refusal, caller?: Caller) => Refusal;

const ofUnknownCallers: ReadonlySet<ProblemCode> = new Set([
  'token_missing',
  'token_invalid',
  'code_invalid',
  'join_token_invalid',
  'join_token_used',
]);

/** In hex digits of the hash: enough to tell wrong tokens apart in the audit trail, and useless to an attacker. */
const shownOfHash = 8;

const tooMany = refuse(
  'too_many_failures',
  'Too many calls without a valid token came from this address: wait a little, and check the token',
).refusal;

/** Counts unauthenticated requests, records their credentials' hashes in the audit trail, and throttles addresses that keep failing. */
export function guardFailures(limit: FailureLimit, note: Orchestrator['access']['noteRefusal']): OnRefused {
  return (request, refusal, caller) => {
    if (refusal.code === 'not_your_worker' && caller?.kind === 'worker') {
      // The worker's token is valid, so the server keeps answering it. Only the audit rows are limited.
      if (limit.note(caller.id) === 'count')
        note(
          'auth.refused',
          addressOf(request) ?? 'unknown',
          callOf(request),
          {
            why: refusal.code,
            worker_id: caller.id,
          },
          caller.id,
        );
      return refusal;
    }
    if (refusal.code === 'not_your_job' && caller?.kind === 'uploader') {
      const { jobId } = caller.uploader;
      if (limit.note(jobId) === 'count')
        note(
          'auth.refused',
          addressOf(request) ?? 'unknown',
          callOf(request),
          {
            why: refusal.code,
            job_id: jobId,
          },
          jobId,
        );
      return refusal;
    }
    if (!ofUnknownCallers.has(refusal.code)) return refusal;
    const address = addressOf(request) ?? 'unknown';
    const call = callOf(request);
    const verdict = limit.note(address);
    if (verdict === 'begin') note('auth.limited', address, call, {}, networkOf(address));
    if (verdict !== 'count') return tooMany;
    const secret = secretOf(request);
    // Without a secret nobody tried to authenticate: a browser before sign-in, or a visitor.
    if (secret !== null || call.endsWith(` ${sessionApi.signIn.path}`)) {
      const hash = secret === null ? null : hashOf(secret).toString('hex').slice(0, shownOfHash);
      note('auth.refused', address, call, { why: refusal.code, sha256: hash }, networkOf(address));
    }
    return refusal;
  };
}

/** The method and path, cut to a bounded length. The query is left out because it may hold anything. */
const callOf = ({ method, originalUrl: url }: Request): string =>
  `${method} ${(url.split('?', 1)[0] ?? '').slice(0, 200)}`;
