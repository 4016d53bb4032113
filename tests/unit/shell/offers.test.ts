/** Offers that are not acknowledged: SEMANTICS.md, section 4. T = 120 s: repeated at 15 and 30 s, given up at 45 s. */
import { expect, test } from 'vitest';
import { openFleet } from '../../support/fleet-bench.ts';
import { refusalOf } from '../../support/fleet-outcome.ts';

test('an offer is repeated at T/8 and T/4, and given up at 3T/8', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit({ max_retries: 0 });
  const sent = () => rig.commandsOf('job_submit').map(({ attempt_id: attempt }) => attempt);
  await fleet.clock.advance(14_999);
  expect(sent()).toEqual(['a_1']);
  await fleet.clock.advance(1);
  expect(sent()).toEqual(['a_1', 'a_1']);
  await fleet.clock.advance(14_999);
  expect(sent()).toEqual(['a_1', 'a_1']);
  await fleet.clock.advance(1);
  expect(sent()).toEqual(['a_1', 'a_1', 'a_1']);
  await fleet.clock.advance(14_999);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
  const [first, ...repeats] = rig.commandsOf('job_submit');
  expect(repeats).toEqual([first, first]);
  const other = await fleet.addIdleWorker();
  await fleet.clock.advance(1);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: other.id });
  expect(fleet.job(jobId).attempts[0]).toMatchObject({ outcome: 'withdrawn', cause: null });
});

test('giving an offer up uses no retry', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit({ max_retries: 0 });
  for (let round = 1; round <= 5; round++) {
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: round });
    await fleet.clock.advance(45_000);
    await rig.beat();
  }
  await rig.run(jobId);
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 6 });
});

test('a new offer of the same job is repeated and given up on its own time', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.submit();
  await fleet.clock.advance(45_000);
  await fleet.clock.advance(44_999);
  const sent = rig.commandsOf('job_submit').map(({ attempt_id: attempt }) => attempt);
  expect(sent).toEqual(['a_1', 'a_1', 'a_1', 'a_2', 'a_2', 'a_2']);
});

test('a claim after the offer was given up is refused', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  const { attempt_id: first } = rig.lastOffer();
  await rig.stream.drop();
  await fleet.clock.advance(45_000);
  expect(fleet.job(jobId).status).toBe('pending');
  const late = { attempt_id: first };
  expect(refusalOf(await rig.report(jobId, 'starting', late))).toEqual({
    code: 'attempt_superseded',
    action: 'stop',
  });
  expect(fleet.job(jobId).status).toBe('pending');
  await rig.openStream();
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2 });
  expect(refusalOf(await rig.report(jobId, 'starting', late))).toEqual({
    code: 'attempt_superseded',
    action: 'stop',
  });
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2 });
});

test.each([1, 2] as const)('an offer that was taken (protocol %i) is not sent again', async protocol => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol } });
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(16_000);
  await rig.report(jobId, 'starting');
  await fleet.clock.advance(60_000);
  expect(rig.commandsOf('job_submit')).toHaveLength(2);
  expect(fleet.job(jobId)).toMatchObject({ status: 'starting', attempt: 1 });
});

test('the offer goes out again on a stream that opens meanwhile', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.submit();
  const offer = rig.lastOffer();
  await rig.stream.drop();
  await fleet.clock.advance(5_000);
  await rig.openStream();
  expect(rig.stream.commands).toEqual([offer]);
});

test('the published agent’s stream is ended when its offer is given up, and a clean end makes it register', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(44_999);
  expect(rig.stream.ended).toBe(false);
  await fleet.clock.advance(1);
  expect(rig.stream.ended).toBe(true);
  expect(fleet.job(jobId)).toMatchObject({ status: 'pending' });
  await rig.register({ currentJobId: jobId });
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1, attempts: [{ outcome: null }] });
});

test('what the published agent starts after all is taken on again: it spawns whatever it is answered', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(45_000);
  expect((await rig.report(jobId, 'starting')).ok).toBe(true);
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
});

test('our own agent’s stream stays open when its offer is given up', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.submit();
  await fleet.clock.advance(45_000);
  expect(rig.stream.ended).toBe(false);
});

test('cancelling a job that waits does not stop the repeats of another one’s offer', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const waits = await fleet.runJob(rig, { gpu_count: 1 });
  await rig.register({ gpus: 0 });
  expect(fleet.job(waits).status).toBe('pending');
  const { jobId: offered } = await fleet.submit();
  expect(rig.lastOffer().job_id).toBe(offered);
  await fleet.cancel(waits);
  await fleet.clock.advance(15_000);
  expect(rig.commandsOf('job_submit').filter(({ job_id: id }) => id === offered)).toHaveLength(2);
});

test('an offer is given up once, even when something else is decided in the same commit', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
  const other = await fleet.addIdleWorker({ agent: { gpus: 1 } });
  const { jobId } = await fleet.submit({ gpu_count: 2 });
  expect(rig.lastOffer().job_id).toBe(jobId);
  // Comes at the very moment, and is queued before it.
  fleet.clock.after(45_000, () => void fleet.orchestrator.disconnect(other.id));
  await fleet.clock.advance(45_000);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: rig.id });
});
