import assert from 'node:assert/strict';
import type { HttpExchange } from '../support/chaos-proxy.ts';
import { untilDead } from '../support/own-processes.ts';
import type { FaultFleet, FleetJob, Rig } from './fault-fleet.ts';

/** Returns a field of a received JSON value; undefined when the value has no such field. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

const countHeartbeats = (rig: Rig): number =>
  rig.proxy.calls('POST /api/workers/heartbeat').filter(({ answer }) => answer?.status === 200).length;

/** Waits for this number of further successful heartbeats. Gives delayed errors time to occur. */
export async function waitForHeartbeats(rig: Rig, count: number): Promise<void> {
  const total = countHeartbeats(rig) + count;
  await rig.proxy.waitFor(`${count} heartbeats of ${rig.name}`, () => countHeartbeats(rig) >= total);
}

/** Returns the reports of a job with this status, in the order in which they were sent. */
export const reportsOf = (rig: Rig, job: FleetJob, status: string): readonly HttpExchange[] =>
  rig.proxy.calls(`/job/${job.id}/status`).filter(({ body }) => fieldOf(body, 'status') === status);

/** Ends the trainer, and expects that the job completes in its first attempt with only this trainer. */
export async function expectUninterruptedEnd(fleet: FaultFleet, job: FleetJob, pid: number): Promise<void> {
  job.finish();
  await fleet.events.job(job.id, 'job.completed');
  await expectOneAttempt(fleet, job, pid);
}

/** Expects that the job is completed and had one attempt with only this trainer. */
export async function expectOneAttempt(fleet: FaultFleet, job: FleetJob, pid: number): Promise<void> {
  const { status, attempts } = await fleet.admin.job(job.id);
  assert.equal(status, 'completed');
  assert.equal(attempts.length, 1, 'attempts');
  assert.deepEqual(
    fleet.trainers.runs(job.id).map(run => run.pid),
    [pid],
    'pids of its trainers',
  );
}

/** Waits until a trainer has written a line this many ms after the newest line so far. Fails when all trainers have ended. */
export async function expectTrainersContinue({ trainers }: FaultFleet, ms: number): Promise<void> {
  const from = trainers.lines().at(-1)?.at ?? 0;
  await trainers.waitFor(`${ms} ms of training`, record => (record.lines().at(-1)?.at ?? 0) >= from + ms);
}

/** Returns descriptions of the events of these types, starting at the index `from`. */
export const eventsOf = ({ events }: FaultFleet, types: readonly string[], from = 0): readonly string[] =>
  events.events
    .slice(from)
    .filter(({ type }) => types.includes(type))
    .map(({ seq, type, worker_id: worker, job_id: job }) => `${seq} ${type} ${job ?? worker}`);

/**
 * Ends the trainer of the second attempt, and expects that the attempt completes on the rig `other`. Does not check the trainer
 * of the first attempt.
 */
export async function expectEndOnOtherRig(fleet: FaultFleet, job: FleetJob, other: Rig): Promise<void> {
  const { pid } = await fleet.trainers.waitFor('a second trainer', record =>
    record
      .runs(job.id)
      .slice(1)
      .find(run => run.lines.length > 1),
  );
  job.finish(pid);
  await fleet.events.job(job.id, 'job.completed');
  const { attempts } = await fleet.admin.job(job.id);
  assert.partialDeepStrictEqual(attempts, [
    { outcome: 'given_up', cause: 'worker_lost' },
    { outcome: 'completed', worker_id: other.id },
  ]);
}

/**
 * Expects that the first worker of a job, now reachable again, receives the order to stop its trainer and obeys. Expects also
 * that this changes neither the completed job nor the worker's idle state.
 */
export async function expectStopOrder(
  fleet: FaultFleet,
  rig: Rig,
  job: FleetJob,
  pid: number,
): Promise<void> {
  await untilDead(pid);
  const run = fleet.trainers.runs(job.id).find(candidate => candidate.pid === pid);
  assert.ok(
    run?.lines.some(({ kind }) => kind === 'term'),
    'the trainer ended without SIGTERM',
  );
  const stopOrder = rig.proxy.log.find(
    ({ path, answer }) =>
      fieldOf(answer?.body, 'abandon_job') === job.id ||
      (answer?.status === 409 && path.includes(`/job/${job.id}/`)),
  );
  assert.ok(stopOrder !== undefined, 'no response told the agent to stop');
  await rig.proxy.waitFor('an idle heartbeat', () =>
    rig.proxy
      .calls('/heartbeat')
      .some(({ body, at }) => at > stopOrder.at && fieldOf(body, 'status') === 'idle'),
  );
  assert.equal((await fleet.admin.job(job.id)).status, 'completed');
  assert.equal((await fleet.admin.worker(rig.id)).current_job_id, null);
}
