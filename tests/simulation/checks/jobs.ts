import type { Job } from '../../../main/orchestrator/ports/index.ts';
import type { Committed, JobChange } from '../world/disk.ts';
import type { Check, Scene } from '../world/scene.ts';
import { isFinal, isLive, mayBeRevived } from './ledger.ts';

/**
 * Checks each job after each commit: one live attempt (I2), no change of an ended job (I3), one audit row per transition (I5),
 * and the number of retries. docs/internals/faults.md, section 1, explains the numbers.
 */
export const watchJobs: Check = scene => ({
  onCommit(command) {
    for (const change of command.changes) {
      expectLedgerState(scene, change);
      expectStaysEnded(scene, change);
      expectKnownEndKept(scene, change);
      expectRetryBudget(scene, change.next);
    }
    expectAuditRow(scene, command);
    if (command.changes.length > 0) expectOneAttemptEach(scene);
  },
  onLife: () => expectRestoredState(scene),
  atEnd() {
    expectRestoredState(scene);
    expectCountedRetries(scene);
  },
});

const inShort = ({ id, status, attempt, retriesUsed }: Job): string =>
  `${id} ${status} ${attempt?.id ?? 'no attempt'} retries ${retriesUsed}`;

/** Expects that each command sees a job as the previous command left the job. Must run before the ledger records the command. */
function expectLedgerState({ ledger, violate }: Scene, { was }: JobChange): void {
  const known = ledger.job(was.id);
  // Skip the second change of a job within one command, because the ledger does not contain the first change yet.
  if (known === null || known.status === was.status || known.attempt?.id === was.attempt?.id) return;
  violate('I2 one writer', `the job was ${inShort(known)}, but a command read ${inShort(was)}`);
}

function expectStaysEnded({ violate }: Scene, { was, next }: JobChange): void {
  if (isFinal(was)) violate('I3 an ended job keeps its status', `${inShort(was)} became ${inShort(next)}`);
}

/** Expects that the known end of an attempt never changes, except when a late report completes the job. */
function expectKnownEndKept({ violate }: Scene, { was, next }: JobChange): void {
  const before = was.attempt;
  if (before === null || before.end === null || mayBeRevived(before)) return;
  if (next.attempt?.id !== before.id || next.status === 'completed') return;
  if (JSON.stringify(next.attempt.end) === JSON.stringify(before.end)) return;
  violate(
    'I4 an attempt ends once',
    `attempt ${before.id} of ${was.id} had ended as ${before.end.outcome}, and is now ${next.attempt.end?.outcome ?? 'live'}`,
  );
}

/** Expects that neither the used retries nor the charged attempts exceed the maximum of the job. */
function expectRetryBudget({ disk, violate }: Scene, job: Job): void {
  const charged = disk.store.attempts(job.id).filter(({ end }) => end?.charged === true).length;
  if (job.retriesUsed > job.spec.maxRetries || charged > job.spec.maxRetries)
    violate(
      'retries within budget',
      `${inShort(job)} of ${job.spec.maxRetries}, ${charged} attempts charged`,
    );
}

/**
 * Checks that a job has used one retry for each charged attempt. Call it only while no commit is in progress, because during a
 * commit the database is ahead of the ledger.
 */
function expectCountedRetries({ disk, ledger, violate }: Scene): void {
  for (const { id } of ledger.jobs()) {
    const job = disk.store.job(id);
    const charged = disk.store.attempts(id).filter(({ end }) => end?.charged === true).length;
    if (job !== null && job.retriesUsed !== charged)
      violate('used retries equal charged attempts', `${inShort(job)}, and ${charged} attempts charged`);
  }
}

const notTransitions: ReadonlySet<string> = new Set([
  'job.submitted',
  'job.asked',
  'job.late_result',
  'job.node_ended',
  'job.report_refused',
  'job.deleted',
]);

function expectAuditRow({ violate }: Scene, { changes, audits }: Committed): void {
  const rows = audits.filter(({ type, target }) => target.type === 'job' && !notTransitions.has(type));
  const audited = rows.map(
    ({ target, details }) => `${target.id} ${String(details['from'])} ${String(details['to'])}`,
  );
  const changed = changes.map(({ was, next }) => `${was.id} ${was.status} ${next.status}`);
  if (audited.join() !== changed.join())
    violate(
      'I5 one audit row per transition',
      `changed: ${changed.join(', ')}; audited: ${audited.join(', ')}`,
    );
}

function expectOneAttemptEach({ disk, violate }: Scene): void {
  const living = disk.store.liveJobs();
  const workers = new Set(living.map(({ attempt }) => attempt.workerId));
  const attempts = new Set(living.map(({ attempt }) => attempt.id));
  if (workers.size < living.length || attempts.size < living.length)
    violate('I2 one live attempt', living.map(inShort).join('; '));
  for (const job of living) {
    if (job.attempt.end !== null) violate('I2 one live attempt', `${inShort(job)}, whose attempt has ended`);
  }
}

/** Expects that the database after a restart contains exactly what was committed. */
function expectRestoredState({ ledger, disk, violate }: Scene): void {
  for (const known of ledger.jobs()) {
    const stored = disk.store.job(known.id);
    if (stored === null) violate('I1 acknowledged jobs exist', `${inShort(known)} does not exist`);
    else if (inShort(stored) !== inShort(known))
      violate(
        'I1 committed changes survive a restart',
        `${inShort(known)} became ${inShort(stored)} in a restart`,
      );
    else if (isLive(stored) !== (stored.attempt?.end === null))
      violate('I2 one live attempt', `${inShort(stored)} and its attempt do not agree`);
  }
}
