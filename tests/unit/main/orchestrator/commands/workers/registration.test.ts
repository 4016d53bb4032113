/** What a registration changes, and what only the admin can change: docs/internals/semantics.md, section 1. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';

test('the admin’s name stands, and the agent’s is shown as its host', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ name: 'big-rig' });
  expect(await rig.register({ host: 'ip-10-0-0-7' })).toMatchObject({ worker_id: rig.id, name: 'big-rig' });
  expect(rig.view()).toMatchObject({ name: 'big-rig', host: 'ip-10-0-0-7' });
});

test('the admin’s labels win over the agent’s, key by key', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ labels: { team: 'nlp', zone: 'eu' } });
  await rig.register({ labels: { team: 'vision', disk: 'nvme' } });
  expect(rig.view().labels).toEqual({ team: 'nlp', zone: 'eu', disk: 'nvme' });
});

test.each([
  ['absent', undefined],
  ['empty', {}],
])('a label set that is %s wipes nothing', async (_what, labels) => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ labels: { team: 'nlp' } });
  await rig.register({ labels: { disk: 'nvme' } });
  await rig.register({ labels });
  expect(rig.view().labels).toEqual({ team: 'nlp', disk: 'nvme' });
  await rig.register({ labels: { disk: 'ssd' } });
  expect(rig.view().labels).toEqual({ team: 'nlp', disk: 'ssd' });
});

test('capabilities are taken over with every registration', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
  expect(rig.view()).toMatchObject({
    gpu_count: 2,
    gpu_name: 'NVIDIA A100-SXM4-80GB',
    gpu_vram_gb: 80,
    accelerator_type: 'cuda',
    protocol: 2,
  });
  // Another kind of agent on the same machine counts as another machine, for as long as the first may be there.
  await rig.disconnect();
  await rig.register({ gpus: 1, protocol: 1 });
  expect(rig.view()).toMatchObject({ gpu_count: 1, protocol: 1 });
});

test('whether the agent leaves after a job is its own word; the type stays as created', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker({ type: 'persistent' });
  await rig.connect({ persistent: false });
  expect(rig.view()).toMatchObject({ worker_type: 'persistent', persistent: false });
  const job = await fleet.runJob(rig);
  await rig.report(job, 'completed', { exit_code: 0 });
  expect(rig.commandsOf('shutdown')).toHaveLength(1);
});

test('the reply carries the spans that follow from T', async () => {
  const fleet = await openFleet({ heartbeatTimeoutMs: 4_000 });
  const rig = await fleet.addWorker();
  expect(await rig.register()).toEqual({
    worker_id: rig.id,
    name: 'rig-1',
    sse_url: `/api/workers/stream?worker_id=${rig.id}`,
    resume_job: null,
    abandon_job: null,
    cancel: null,
    protocol: 2,
    heartbeat_interval_s: 1,
    heartbeat_timeout_s: 4,
    stop_grace_s: 1,
    stream_silence_s: 2,
  });
});

test('a heartbeat is no introduction', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker();
  expect(await rig.beat()).toMatchObject({ ok: false, refusal: { code: 'not_registered' } });
});

test('a status word that nobody knows is taken as contact and changes nothing', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.clock.advance(100_000);
  expect(await rig.beat(null, { status: 'dancing' })).toMatchObject({ ok: true });
  expect(rig.view()).toMatchObject({ status: 'idle', last_contact_age_s: 0 });
});

test('a beat that only says what is known costs no write', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const before = fleet.writes;
  for (let beat = 0; beat < 5; beat++) {
    await fleet.clock.advance(10_000);
    await rig.beat(job);
  }
  expect(fleet.writes).toBe(before);
});

test('a worker that names an older attempt has lost the one that it is known to have', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const older = rig.lastOffer()?.attempt_id ?? null;
  await rig.register();
  await rig.run(job);
  const reply = await rig.register({ currentJobId: job, currentAttemptId: older });
  expect(reply).toMatchObject({ resume_job: null, abandon_job: job });
  const { attempts } = valueOf(fleet.orchestrator.jobs.get(job));
  expect(attempts).toMatchObject([{ outcome: 'requeued' }, { outcome: 'requeued', cause: 'worker_lost' }]);
});

test('how long ago a worker was heard is not forgotten over a restart, nor made up for one that never came', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const never = await fleet.addWorker();
  await rig.disconnect();
  await fleet.clock.advance(60_000);
  await fleet.restart();
  expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'goodbye', last_contact_age_s: 60 });
  expect(never.view()).toMatchObject({ last_heartbeat: null, last_contact_age_s: null });
});

test('how busy its GPUs are is what its last heartbeat said, and unknown when it did not say', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  expect(rig.view()).toMatchObject({ gpu_utilization: null, vram_used_gb: null });
  await rig.beat(null, { gpu_utilization: 87, vram_used_gb: 22.5 });
  expect(rig.view()).toMatchObject({ gpu_utilization: 87, vram_used_gb: 22.5 });
  await rig.beat(null, { gpu_utilization: 'high' });
  expect(rig.view()).toMatchObject({ gpu_utilization: null, vram_used_gb: null });
});

describe('an introduction that arrives after a later one of the same start', () => {
  test.each([1, 2])('is no news, and costs no job: number %i after 2', async registrationNo => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 2, gpus: 4 } });
    const job = await fleet.runJob(rig);
    const seen = fleet.events.length;
    const reply = await rig.register({ registrationNo, gpus: 1 });
    expect(reply).toMatchObject({ worker_id: rig.id, resume_job: null, abandon_job: null });
    expect(fleet.events).toHaveLength(seen);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(rig.view().gpu_count).toBe(4);
  });

  test('is answered like the first one when it is the same: the agent may have that answer alone', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 1 } });
    const job = await fleet.runJob(rig);
    const again = { registrationNo: 2, currentJobId: job };
    const [first, second] = [await rig.register(again), await rig.register(again)];
    expect(first.resume_job).toMatchObject({ job_id: job });
    expect(second).toEqual(first);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(await rig.register(again)).toMatchObject({ resume_job: null, abandon_job: job });
  });

  test('is no return when the worker has left since', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 2 } });
    await rig.disconnect();
    await rig.register({ registrationNo: 2 });
    expect(rig.view().status).toBe('offline');
  });

  test.each([
    ['the next one of this start', { registrationNo: 3 }],
    ['the first one of another start', { registrationNo: 1, startId: 'second-life' }],
    ['one without a number', {}],
  ])('is not %s: that one is believed', async (_what, changes) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { registrationNo: 2 } });
    const job = await fleet.runJob(rig);
    await rig.register({ registrationNo: undefined, ...changes });
    expect(fleet.job(job)).toMatchObject({ attempts: [{ outcome: 'requeued' }, {}] });
  });
});
