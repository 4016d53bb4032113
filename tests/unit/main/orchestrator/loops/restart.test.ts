// See docs/internals/semantics.md, sections 4 and 5. T, the heartbeat timeout, is 120 s. Takeover follows after 160 s.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFleet, openFolder } from '../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import { everyJob } from '../../../../support/every-job.ts';

const takeoverMs = 160_000;

describe.each([
  ['a crash', 'a file', { crash: true }],
  ['an orderly stop', 'a file', { crash: false }],
  ['a crash', 'memory', { crash: true }],
] as const)('restart by %s with the store in %s', (_case, storage, restart) => {
  const open = () => openFleet(storage === 'memory' ? {} : { storeFile: join(openFolder(), 'trainyard.db') });

  test('keeps a pending job across a restart, and completes the job later', async () => {
    const fleet = await open();
    const { jobId } = await fleet.submit({ priority: 20, worker_labels: { team: 'n*' } });
    const before = fleet.job(jobId);
    await fleet.restart(restart);
    expect(fleet.job(jobId)).toEqual(before);
    const rig = await fleet.addIdleWorker({ labels: { team: 'nlp' } });
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    expect(fleet.job(jobId).status).toBe('completed');
  });

  test('repeats an offer to its worker after a restart', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    const otherRig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ max_retries: 0 });
    const offer = rig.lastOffer();
    await fleet.restart(restart);
    await otherRig.connect();
    await fleet.clock.advance(100_000);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1, worker_id: rig.id });
    await rig.connect();
    expect(rig.stream.commands).toEqual([offer]);
    expect(otherRig.commandsOf('job_submit')).toEqual([]);
    await rig.run(jobId);
    expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('resumes a running job after a restart', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(10_000);
    await fleet.restart(restart);
    expect(fleet.job(job).status).toBe('running');
    expect(await rig.register({ currentJobId: job })).toMatchObject({
      resume_job: { job_id: job, attempt_id: 'a_1', status: 'running' },
    });
    await rig.openStream();
    expect(rig.stream.commands).toEqual([]);
    await rig.report(job, 'completed');
    expect(fleet.job(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  test('takes no job over before the whole takeover time has passed since the restart', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 1 });
    await fleet.clock.advance(115_000);
    await fleet.restart(restart);
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job)).toMatchObject({ status: 'recovering', attempt: 1 });
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ cause: 'worker_lost' }] });
  });

  test('restarts the takeover deadline of a recovering job at a restart', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(takeoverMs - 1);
    await fleet.restart(restart);
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job).status).toBe('recovering');
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('continues a back-off across a restart instead of starting a new back-off', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    await fleet.clock.advance(10_000);
    await fleet.restart(restart);
    await rig.connect();
    await fleet.clock.advance(19_999);
    expect(fleet.job(job).status).toBe('pending');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 3 });
  });

  test('repeats a cancel after a restart', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.cancel(job);
    await fleet.restart(restart);
    expect(valueOf(await rig.beat(job))).toMatchObject({ cancel: { job_id: job } });
    await rig.openStream();
    expect(rig.stream.commands).toMatchObject([{ type: 'job_cancel', job_id: job }]);
  });

  test('keeps a disconnected worker offline and continues the event sequence after a restart', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    await rig.disconnect();
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    await fleet.restart(restart);
    expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'goodbye' });
    expect(fleet.orchestrator.lifecycle.lastSeq()).toBe(seq);
    await fleet.submit();
    expect(fleet.events.at(-1)).toMatchObject({ type: 'job.submitted', seq: seq + 1 });
  });

  test('dispatches a job to a worker that opens its stream after a restart without registering', async () => {
    const fleet = await open();
    const rig = await fleet.addIdleWorker();
    await fleet.restart(restart);
    expect(rig.view()).toMatchObject({ status: 'connecting', status_reason: 'no_stream' });
    await rig.openStream();
    expect(await fleet.submit()).toMatchObject({ workerId: rig.id });
  });
});

test.each([
  ['ten hours back', -36_000_000],
  ['a day ahead', 86_400_000],
])('keeps the length of a back-off when the clock is set %s before a restart', async (_case, ms) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  await fleet.clock.advance(10_000);
  fleet.clock.shiftWall(ms);
  await fleet.restart();
  await rig.connect();
  await fleet.clock.advance(19_999);
  expect(fleet.job(job).status).toBe('pending');
  await fleet.clock.advance(1);
  expect(fleet.job(job).status).toBe('dispatched');
});

test('limits a back-off to its full length when the elapsed time is unknown after a restart', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  fleet.clock.shiftWall(-36_000_000);
  await fleet.restart({ forgetsTime: true });
  await rig.connect();
  await fleet.clock.advance(29_999);
  expect(fleet.job(job).status).toBe('pending');
  await fleet.clock.advance(1);
  expect(fleet.job(job).status).toBe('dispatched');
});

test('keeps a submission that was answered before a crash, and drops an unanswered submission', async () => {
  const fleet = await openFleet({ storeFile: join(openFolder(), 'trainyard.db') });
  const { jobId } = await fleet.submit();
  let isAnswered = false;
  void fleet.submit().then(() => {
    isAnswered = true;
  });
  await fleet.restart({ crash: true });
  const { entries } = fleet.orchestrator.jobs.list({
    ...everyJob,
    includeFinal: true,
    limit: 9,
    offset: 0,
  });
  expect(entries.map(({ id }) => id)).toEqual([jobId]);
  expect(isAnswered).toBe(false);
});

test('stores and answers a submission that arrives during an orderly stop', async () => {
  const fleet = await openFleet({ storeFile: join(openFolder(), 'trainyard.db') });
  const submission = fleet.submit();
  await fleet.restart();
  expect(fleet.job((await submission).jobId).status).toBe('pending');
});

test('sets no timers after the orchestrator has stopped', async () => {
  const fleet = await openFleet({ storeFile: join(openFolder(), 'trainyard.db') });
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const job = await fleet.runJob(rig);
  // The orchestrator stores this report after the stop. Before the stop, such a report starts a cooldown of 50 ms.
  const report = rig.report(job, 'completed');
  await fleet.restart();
  expect((await report).ok).toBe(true);
  await fleet.clock.advance(1_000);
  expect(fleet.errors).toEqual([]);
});

test('ends streams in an orderly stop but not in a crash', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const first = rig.stream;
  await fleet.restart();
  expect(first.ended).toBe(true);
  const second = await rig.openStream();
  await fleet.restart({ crash: true });
  expect(second.ended).toBe(false);
});
