// Runs random scripts on a fleet, and compares the events and the stored state with the audit trail. The disk can
// become full and the process can end at any time. See docs/internals/faults.md, I5.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AuditRow } from '../../../../../main/orchestrator/ports/index.ts';
import { JobEventType, QueueEventType, WorkerEventType } from '../../../../../protocol/events.ts';
import { JobId } from '../../../../../protocol/ids.ts';
import { finalStatuses } from '../../../../../protocol/job.ts';
import { createFleet } from '../../../../support/fleet.ts';
import { brokenQueueRules } from '../../../../support/queue-rules.ts';
import { bookOf, wholeTrail } from '../../../../support/seal.ts';
import {
  expectOnlyDiskErrors,
  play,
  rareScripts,
  type Script,
  scripts,
  type World,
} from './audit-scripts.ts';
import { everyJob } from '../../../../support/every-job.ts';

type Recorded = readonly [type: string, id: string, at: string];

// Returns the published events, except events without an audit row: progress, outstanding files and best loss.
const recordedEvents = ({ fleet }: World): readonly Recorded[] =>
  fleet.events.flatMap((event): readonly Recorded[] => {
    if (event.kind === 'reset' || event.kind === 'hidden') throw new Error('the reader missed events');
    if (['job.progress', 'job.outstanding', 'job.best_loss'].includes(event.type)) return [];
    if (event.kind === 'pool' || event.kind === 'template')
      throw new Error('these scripts have no pools or templates');
    if (event.kind === 'queue') return [[event.type, 'queue', event.at]];
    return [[event.type, event.kind === 'job' ? event.job_id : event.worker_id, event.at]];
  });

// Returns the audit rows in the same form, except rows about refused reports, which have no event.
const recordedRows = ({ fleet }: World): readonly Recorded[] =>
  fleet
    .audit()
    .filter(({ type }) => type !== 'job.report_refused')
    .map((row): Recorded => [row.type, row.target_id, fleet.clock.iso(wallTimeOf(row))]);

// After the clock was set back, a row has the time of the previous row, and stores by how much the clock is behind.
const offsetOf = (row: AuditRow): number => Number(detailsOf(row)['clock_offset_ms'] ?? 0);

const wallTimeOf = (row: AuditRow): number => row.at + offsetOf(row);

interface Replayed {
  readonly status: string;
  readonly attempt: number;
  readonly workerId: unknown;
}

const isFinal = (status: string): boolean => finalStatuses.some(final => final === status);

const detailsOf = (row: AuditRow): Readonly<Record<string, unknown>> =>
  JSON.parse(row.details) as Readonly<Record<string, unknown>>;

// Events after which a job is pending. Any other event has the name of the resulting status.
const pendingEvents: ReadonlySet<string> = new Set([
  'submitted',
  'requeued',
  'approved',
  'dependencies_met',
  'priority_changed',
  'moved',
  'moved_to_top',
  'boosted',
]);

// Rows after which a job has the same status as before.
const rowsWithoutTransition: ReadonlySet<string> = new Set([
  'job.report_refused',
  'job.late_result',
  'job.asked',
  'job.edited',
]);

// Replays the jobs from the audit rows. Each row must start from the status that the previous row of the job set.
function replayJobs(rows: readonly AuditRow[]): ReadonlyMap<string, Replayed> {
  const jobs = new Map<string, Replayed>();
  // Jobs in the order in which they ended, independent of the wall clock.
  const ended = new Set<string>();
  const forget = (id: string): void => {
    jobs.delete(id);
    ended.delete(id);
  };
  for (const row of rows) {
    if (row.type === 'queue.cleaned') {
      const deleted = Number(detailsOf(row)['deleted']);
      expect(deleted).toBeLessThanOrEqual(ended.size);
      for (const id of [...ended].slice(0, deleted)) forget(id);
    }
    if (row.target_type !== 'job' || rowsWithoutTransition.has(row.type)) continue;
    const { from, to, attempt, worker_id } = detailsOf(row);
    const event = row.type.slice('job.'.length);
    const status = pendingEvents.has(event) ? 'pending' : event;
    const before = jobs.get(row.target_id);
    if (event === 'deleted') {
      expect(before?.status).toSatisfy(isFinal);
      forget(row.target_id);
      continue;
    }
    if (isFinal(status)) {
      ended.delete(row.target_id);
      ended.add(row.target_id);
    }
    if (event === 'submitted') expect(before).toBeUndefined();
    else expect([from, to]).toEqual([before?.status, status]);
    jobs.set(row.target_id, { status, attempt: Number(attempt), workerId: worker_id });
  }
  return jobs;
}

function expectJobsAsReplayed({ fleet }: World): void {
  const stored = fleet.store.jobs({ ...everyJob, includeFinal: true, limit: 1_000, offset: 0 });
  const states = new Map<string, Replayed>();
  for (const { id, status, attempt } of stored)
    states.set(id, { status, attempt: attempt?.n ?? 0, workerId: attempt?.workerId ?? null });
  expect(states).toEqual(replayJobs(fleet.audit()));
}

// For each property of a worker, the types of the rows that change this property.
const connections = ['worker.created', 'worker.registered', 'worker.back', 'worker.offline'];
const drains = ['worker.created', 'worker.draining', 'worker.undrained'];
const quarantines = ['worker.created', 'worker.quarantined', 'worker.unquarantined'];
const closings = ['worker.created', 'worker.closed', 'worker.opened'];
const troubles = ['worker.created', 'worker.gpu_trouble', 'worker.gpu_trouble_over'];

// Compares each worker with the newest row about it.
function expectWorkersAsReplayed({ fleet }: World): void {
  const rows = fleet.audit().filter(row => row.target_type === 'worker');
  const newest = (id: string, types: readonly string[]): string | undefined =>
    rows.findLast(row => row.target_id === id && types.includes(row.type))?.type;
  const existing = new Set(rows.map(row => row.target_id));
  for (const { target_id: id } of rows.filter(({ type }) => type === 'worker.deleted')) existing.delete(id);
  const stored = fleet.store.workers();
  expect(new Set<string>(stored.map(({ id }) => id))).toEqual(existing);
  for (const { id, gone, drain, quarantine, agent } of stored) {
    const isTroubled = (agent?.gpuTroubles ?? []).length > 0;
    expect(isTroubled, `${id} has trouble`).toBe(newest(id, troubles) === 'worker.gpu_trouble');
    expect((agent?.closed ?? null) !== null, `${id} is closed`).toBe(
      newest(id, closings) === 'worker.closed',
    );
    expect(gone !== null, `${id} is offline`).toBe(newest(id, connections) === 'worker.offline');
    expect(drain !== null, `${id} drains`).toBe(newest(id, drains) === 'worker.draining');
    expect(quarantine !== null, `${id} is quarantined`).toBe(
      newest(id, quarantines) === 'worker.quarantined',
    );
  }
}

// Compares the queue with the rows about it.
function expectQueueAsReplayed({ fleet }: World): void {
  const rows = fleet.audit().filter(row => row.target_type === 'queue');
  const lastPauseOrResume = rows.findLast(({ type }) => type === 'queue.paused' || type === 'queue.resumed');
  const lastLimits = rows.findLast(({ type }) => type === 'queue.limits_changed');
  const { paused, ...queue } = fleet.orchestrator.queue.view();
  expect(paused !== null).toBe(lastPauseOrResume?.type === 'queue.paused');
  const { clock_offset_ms: _offset, ...limits } = lastLimits
    ? detailsOf(lastLimits)
    : { max_concurrent: null, user_max_concurrent: null };
  expect(queue).toMatchObject(limits);
}

async function expectWholeTrail(world: World): Promise<void> {
  const { fleet } = world;
  expect(recordedRows(world)).toEqual(recordedEvents(world));
  const times = fleet.audit().map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const verdict = await bookOf(fleet.store.audit).verify(wholeTrail);
  expect(verdict).toMatchObject({ valid: true, checked: fleet.audit().length, first_bad: null });
  expectJobsAsReplayed(world);
  expectWorkersAsReplayed(world);
  expectQueueAsReplayed(world);
  const neededApproval = (id: string): boolean =>
    (fleet.store.job(JobId.parse(id))?.approval ?? null) !== null;
  expect(brokenQueueRules(fleet.audit(), neededApproval)).toEqual([]);
  expect(JSON.stringify(fleet.audit())).not.toMatch(/wt_|tj_/);
}

// The heartbeat timeout is short, because the orchestrator does work for every simulated second.
async function run(script: Script, reachedTypes: Set<string>): Promise<void> {
  const fleet = await createFleet({ heartbeatTimeoutMs: 6_000 });
  const world: World = { fleet, workers: [], jobs: [] };
  for (const step of script) await play(world, step);
  await fleet.setDiskFull(false);
  await expectWholeTrail(world);
  for (const { type } of fleet.audit()) reachedTypes.add(type);
  expectOnlyDiskErrors(fleet);
  await fleet.close();
}

test('writes one valid audit row per event, from which the stored state can be replayed', async () => {
  const reachedTypes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scripts, script => run(script, reachedTypes)),
    { numRuns: 120, examples: rareScripts.map(script => [script]) },
  );
  // The scripts must cover every type, or the test proves too little.
  const types = [...JobEventType.options, ...WorkerEventType.options, ...QueueEventType.options];
  const allTypes = [...types, 'job.report_refused'];
  expect(allTypes.filter(type => !reachedTypes.has(type))).toEqual([
    'job.progress',
    // several-workers.test.ts covers jobs on several workers.
    'job.node_changed',
    'job.node_ended',
    'job.outstanding',
    // best-loss.test.ts covers curves.
    'job.best_loss',
    // dependencies.test.ts covers jobs that wait for other jobs.
    'job.dependencies_met',
    'job.parent_changed',
    // updates.test.ts covers updates of workers.
    ...WorkerEventType.options.filter(type => type.startsWith('worker.update_')),
  ]);
}, 60_000);
