import type { Request } from 'express';
import { type ProblemCode, type Refusal, refuse } from '../../protocol/problem.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import type { Orchestrator } from '../orchestrator/index.ts';
import { type Caller, hashOf, secretOf } from './auth.ts';
import { addressOf } from './client-address.ts';
import { type FailureLimit, networkOf } from './failure-limit.ts';

/** What a caller is told who was refused: the refusal itself, or that there have been too many. `caller`: once it is known. */
export type OnRefused = (request: Request, refusal: Refusal, caller?: Caller) => Refusal;

const ofUnknownCallers: ReadonlySet<ProblemCode> = new Set([
  'token_missing',
  'token_invalid',
  'code_invalid',
  'join_token_invalid',
  'join_token_used',
]);

/** Enough to tell one wrong token from another in the audit trail, and of no use to anybody else. */
const shownOfHash = 8;

const tooMany = refuse(
  'too_many_failures',
  'Too many calls without a valid token came from this address: wait a little, and check the token',
).refusal;

/** Counts calls whose caller is unknown, writes down what they came with, and holds back who does not stop. */
export function guardFailures(limit: FailureLimit, note: Orchestrator['noteRefusal']): OnRefused {
  return (request, refusal, caller) => {
    if (refusal.code === 'not_your_worker' && caller?.kind === 'worker') {
      // Its token is a good one, and so it goes on being answered; only what is written down has a limit.
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
    // Else nothing was tried: a browser that has not signed in yet, or somebody who looks around.
    if (secret !== null || call.endsWith(` ${sessionApi.signIn.path}`)) {
      const hash = secret === null ? null : hashOf(secret).toString('hex').slice(0, shownOfHash);
      note('auth.refused', address, call, { why: refusal.code, sha256: hash }, networkOf(address));
    }
    return refusal;
  };
}

/** Without the query, which may hold anything, and never long. */
const callOf = ({ method, originalUrl: url }: Request): string =>
  `${method} ${(url.split('?', 1)[0] ?? '').slice(0, 200)}`;
