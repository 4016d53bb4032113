import { z } from 'zod';
import type { Call } from '../../protocol/call.ts';
import { JobId } from '../../protocol/ids.ts';
import { type Refusal, refuse } from '../../protocol/problem.ts';
import type { Caller } from './auth.ts';

/** Whose job this is: the name of a token; null when there is no such job. */
export type OwnerOf = (id: JobId) => string | null;

/**
 * The one place that keeps a token with `.own` permissions from jobs of others. Null when the call may go on. Who may view all
 * jobs hears whose job it is; for everybody else the job does not exist.
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

/** The user whose jobs alone this caller may see or change with its call; null for all jobs. */
export const onlyUserOf = (caller: Caller): string | null =>
  caller.kind === 'bearer' && caller.reach === 'own' ? caller.principal.user : null;

const JobParams = z.object({ id: JobId });

/** A row with the rule `job` has its job as `id`; a test holds each row to that. */
const jobIn = (params: unknown): JobId => JobParams.parse(params).id;
