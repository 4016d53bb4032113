import { everyone } from '../../../../protocol/queue.ts';
import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { notifyChildren } from './dependencies.ts';
import { dataFor } from './job-data.ts';
import { type Actor, adminPrincipal, nameOf, type PendingJob } from '../../model.ts';
import type { Read, Tx } from '../../ports/index.ts';
import { type BoundDraft, type Draft, withData } from '../../rules/drafts.ts';
import { freshRank } from '../../rules/queue-rules.ts';
import { settingsOf } from '../../memory/eligibility.ts';

/** Without a local agent, a job for the local worker would wait forever. The worker's row may exist from an earlier run. */
const noLocalRuns = refuse(
  'target_unavailable',
  'This orchestrator runs no jobs on its own machine: use target "worker", or turn on the local worker in Settings or ' +
    'with --local-worker',
);

/** Returns a refusal if only the local worker may run the job and this process runs no local agent; otherwise null. */
export const refusalOfLocal = (core: Pick<Core, 'runsLocally'>, { spec }: Draft): Outcome<never> | null =>
  spec.requirements.target === 'local' && !core.runsLocally() ? noLocalRuns : null;

/** Adds the requested datasets to a draft. Refuses unavailable datasets, and a draft that `refusalOfLocal` refuses. */
export function completeDraft(
  core: Core,
  { data = [] }: Pick<SubmitRequest, 'data'>,
  draft: Outcome<Draft>,
  by: Actor,
): Outcome<Draft> {
  if (!draft.ok) return draft;
  const refusal = refusalOfLocal(core, draft.value);
  if (refusal !== null || data.length === 0) return refusal ?? draft;
  const jobData = dataFor(core.store, data, by);
  return jobData.ok ? accept(withData(draft.value, jobData.value)) : jobData;
}

/** Stores the job of a draft, and records its submission. */
export function insertJob(core: Core, tx: Tx, draft: BoundDraft, by: Actor): PendingJob {
  const job = newJob(core, tx, tx.nextJobOrder(), draft, nameOf(by));
  tx.insertJob(job, draft.payload);
  if (draft.notes !== null) tx.setNotes(job.id, draft.notes);
  const { spec, retryOf } = job;
  const { configName, about } = spec;
  const template = about.template === null ? {} : { template: about.template };
  recordJobEvent(core, tx, 'job.submitted', job, by, {
    config_name: configName,
    retry_of: retryOf,
    ...template,
  });
  if (retryOf !== null) notifyChildren(core, tx, job);
  return job;
}

/** Returns the pending job of a draft, without storing it. `order`: its submission number. */
export function newJob(core: Core, read: Read, order: number, draft: BoundDraft, user: string): PendingJob {
  const now = core.clock.wall();
  const token = read.apiTokenByName(user);
  const mayManage = user === adminPrincipal.user || token?.permissions.includes('queue.manage') === true;
  const policy = settingsOf(read).approvalFor;
  return {
    id: core.ids.job(),
    order,
    status: 'pending',
    spec: draft.spec,
    user,
    team: token?.team ?? null,
    rank: freshRank(draft.priority, order, core.queueTime()),
    approval: draft.requiresApproval || needsApproval(policy, user, mayManage) ? 'wanted' : null,
    retryOf: draft.retryOf,
    retryRoot: draft.retryRoot,
    dependencies: draft.dependencies,
    queuedAt: now,
    notBefore: 0,
    retriesUsed: 0,
    progress: null,
    attempt: null,
  };
}

/** Whether the approval policy of the queue requires approval for a new job of this user. */
const needsApproval = (policy: readonly string[], user: string, mayManageQueue: boolean): boolean =>
  policy.includes(user) || (policy.includes(everyone) && !mayManageQueue);
