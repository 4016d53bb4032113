import type { AuditFact, Job } from '../../../main/orchestrator/ports/index.ts';
import { nameOf } from '../../../main/orchestrator/index.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { createQueueRules } from '../../support/queue-rules.ts';
import type { Committed } from '../world/disk.ts';
import { submittedIn } from '../world/people.ts';
import type { Check } from '../world/scene.ts';
import { isFinal } from './ledger.ts';

/** Checks that each dispatch respects limits, pauses and approvals, even after restarts. */
export const watchQueue: Check = scene => {
  const needed = new Set<string>();
  const teams = new Map<string, string>();
  const rules = createQueueRules(
    id => needed.has(id),
    id => teams.get(id) ?? null,
  );
  return {
    onCommit({ inserted, audits }) {
      for (const { id, approval, team } of inserted) {
        if (approval !== null) needed.add(id);
        if (team !== null) teams.set(id, team);
      }
      for (const fact of audits) {
        for (const breach of rules.check(rowOf(fact)))
          scene.violate('dispatch obeys limits, pauses and approvals', breach);
      }
    },
  };
};

const rowOf = ({ type, target, actor, details }: AuditFact) => ({
  type,
  target_type: target.type,
  target_id: target.id,
  actor_id: nameOf(actor),
  details: JSON.stringify(details),
});

/** Checks that only ended jobs are deleted, and that a deleted job never reappears. */
export const watchDeletions: Check = scene => {
  const gone = new Set<JobId>();
  return {
    onCommit({ inserted, changes, removed }) {
      for (const { id } of [...inserted, ...changes.map(({ next }) => next)])
        if (gone.has(id)) scene.violate('deleted jobs stay deleted', `${id} exists again`);
      for (const id of removed) {
        const known = scene.ledger.job(id);
        // This assumes that no command ends and deletes the same job.
        if (known === null || !isFinal(known))
          scene.violate('only ended jobs are deleted', `${id} was ${known?.status ?? 'unknown'}`);
        gone.add(id);
      }
    },
    atEnd() {
      for (const id of gone)
        if (scene.disk.store.job(id) !== null)
          scene.violate('deleted jobs stay deleted', `${id} exists again`);
    },
  };
};

/**
 * Checks that submissions with the same key create one job, and that a no-wait job is dispatched together with its submission.
 */
export const watchSubmissions: Check = scene => {
  const keyed = new Map<number, JobId>();
  return {
    onCommit(command) {
      const plan = command.cause && submittedIn(command.cause, scene.plan.jobs);
      const [job] = command.inserted;
      if (plan === null || job === undefined) return;
      const { isNow, hasKey } = plan.submitTerms;
      if (isNow && !isTaken(command, job))
        scene.violate('a no-wait job is dispatched immediately', `${job.id} is pending`);
      if (!hasKey) return;
      const first = keyed.get(plan.index);
      if (first !== undefined)
        scene.violate('one job per idempotency key', `job ${plan.index} became both ${first} and ${job.id}`);
      keyed.set(plan.index, job.id);
    },
  };
};

const isTaken = ({ changes }: Committed, { id }: Job): boolean =>
  changes.some(({ next }) => next.id === id && next.status === 'dispatched');
