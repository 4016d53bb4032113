import { z } from 'zod';
import type { Call } from '../../../protocol/call.ts';
import { JobId } from '../../../protocol/ids.ts';
import { type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Caller } from './auth.ts';

/** Returns the owner of a job, as the name of a token; null when the job does not exist. */
export type OwnerOf = (id: JobId) => string | null;

/**
 * The only place that keeps tokens with `.own` permissions away from other users' jobs. Returns null when the request may continue. Callers
 * who may view all jobs learn the owner's name; for all others the job does not exist.
 */
export function refuseForeignJob(
  row: Pick<Call, 'authority' | 'own'>,
  params: unknown,
  caller: Caller,
  ownerOf: OwnerOf,
): Refusal | null {
  const user = onlyUserOf(caller);
  if (user === null || row.own !== 'job' || caller.kind !== 'bearer') return null;
  const id = jobIn(params);
  const owner = ownerOf(id);
  if (owner === user) return null;
  if (owner === null || !caller.principal.permissions.includes('queue.view'))
    return refuse('job_not_found', `There is no job ${id}`).refusal;
  return refuse(
    'permission_missing',
    `Job ${id} belongs to ${owner}. The token ${user} has ${row.authority}.own, which covers its own jobs only; jobs of others need ${row.authority}`,
  ).refusal;
}

/** Returns the user whose jobs the caller is limited to in this call; null for no limit. */
export const onlyUserOf = (caller: Caller): string | null =>
  caller.kind === 'bearer' && caller.reach === 'own' ? caller.principal.user : null;

const JobParams = z.object({ id: JobId });

/** Every call with the rule `job` has the job in the parameter `id`; a test enforces that. */
const jobIn = (params: unknown): JobId => JobParams.parse(params).id;
