// Jobs that train on several workers. T, the heartbeat timeout, is 120 s: an offer is withdrawn after 45 s.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const onTwoWorkers = { num_nodes: 2, gpu_count: 1 } as const;
const multiNode = { isMultiNode: true } as const;
const addRig = (fleet: Fleet, name: string): Promise<FleetWorker> =>
  fleet.addIdleWorker({ name, agent: multiNode });
// Creates the report fields with which a worker announces that its trainer can start, and the address for other trainers.
const ready = (address: string | null, port = 29_500) => ({ ready: { address, port } });
const nodesOf = (fleet: Fleet, id: JobId) => fleet.job(id).attempts.at(-1)?.nodes ?? [];
const statesOf = (fleet: Fleet, id: JobId) => nodesOf(fleet, id).map(({ state }) => state);

// Offers a job to two rigs.
async function offerToPair(options: Parameters<Fleet['submit']>[0] = {}) {
  const fleet = await openFleet();
  const first = await addRig(fleet, 'rig-1');
  const second = await addRig(fleet, 'rig-2');
  const { jobId } = await fleet.submit({ ...onTwoWorkers, ...options });
  return { fleet, first, second, jobId };
}

// Offers a job to two rigs, and starts the training on both rigs.
async function runPair(options?: Parameters<Fleet['submit']>[0]) {
  const pair = await offerToPair(options);
  const { fleet, first, second, jobId } = pair;
  for (const rig of [first, second]) valueOf(await rig.report(jobId, 'starting'));
  valueOf(await first.report(jobId, 'starting', ready('10.0.0.1')));
  valueOf(await second.report(jobId, 'starting', ready('10.0.0.2')));
  for (const rig of [first, second]) valueOf(await rig.report(jobId, 'running'));
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', worker_id: first.id });
  return pair;
}

describe('the dispatch of a job on two workers', () => {
  test('waits until two workers are idle, and offers the same attempt to both workers', async () => {
    const fleet = await openFleet();
    const first = await addRig(fleet, 'rig-1');
    const { jobId } = await fleet.submit(onTwoWorkers);
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      wait: { code: 'unmet' },
    });
    expect(first.commandsOf('job_submit')).toEqual([]);
    const second = await addRig(fleet, 'rig-2');
    const offers = [first, second].map(rig => rig.lastOffer());
    expect(offers.map(({ node }) => node)).toEqual([
      { rank: 0, count: 2 },
      { rank: 1, count: 2 },
    ]);
    expect(new Set(offers.map(({ attempt_id: id }) => id)).size).toBe(1);
    expect(second.view()).toMatchObject({ status: 'busy', current_job_id: jobId });
  });

  test('does not offer a job on two workers to an agent without multi-node support', async () => {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    await addRig(fleet, 'rig-3');
    const { jobId } = await fleet.submit(onTwoWorkers);
    expect(fleet.job(jobId).status).toBe('pending');
    expect(rigs.flatMap(rig => rig.commandsOf('job_submit'))).toEqual([]);
  });

  test('reserves an idle worker for a job on two workers while the second worker is busy', async () => {
    const fleet = await openFleet();
    const busy = await addRig(fleet, 'rig-1');
    const running = await fleet.runJob(busy);
    const idle = await addRig(fleet, 'rig-2');
    const { jobId: pair } = await fleet.submit(onTwoWorkers);
    const { jobId: single } = await fleet.submit();
    expect(fleet.job(pair)).toMatchObject({ wait: { code: 'gathering', params: { free: 1, wanted: 2 } } });
    expect(fleet.job(single)).toMatchObject({ status: 'pending', wait: { code: 'ahead' } });
    expect(idle.commandsOf('job_submit')).toEqual([]);
    valueOf(await busy.report(running, 'completed'));
    expect(fleet.job(pair).status).toBe('dispatched');
    expect(fleet.job(single).status).toBe('pending');
  });

  test('reserves no worker for a job on two workers when too few workers are online', async () => {
    const fleet = await openFleet();
    const rig = await addRig(fleet, 'rig-1');
    const otherRig = await addRig(fleet, 'rig-2');
    await otherRig.disconnect();
    await fleet.submit(onTwoWorkers);
    const { jobId } = await fleet.submit();
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: rig.id });
  });

  test('gives a reserved worker to a job with a higher priority', async () => {
    const fleet = await openFleet();
    await fleet.runJob(await addRig(fleet, 'rig-1'));
    const idle = await addRig(fleet, 'rig-2');
    await fleet.submit(onTwoWorkers);
    const { jobId } = await fleet.submit({ priority: 'high' });
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: idle.id });
  });
});

describe('the start of the trainers', () => {
  test('waits until all workers are ready, and then sends the address of the first worker to all workers', async () => {
    const { fleet, first, second, jobId } = await offerToPair();
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'starting'));
    valueOf(await second.report(jobId, 'starting', ready('10.0.0.2')));
    expect([first, second].flatMap(rig => rig.commandsOf('job_rendezvous'))).toEqual([]);
    valueOf(await first.report(jobId, 'starting', ready('10.0.0.1', 4_711)));
    for (const rig of [first, second])
      expect(rig.commandsOf('job_rendezvous')).toMatchObject([
        { job_id: jobId, address: '10.0.0.1', port: 4_711 },
      ]);
    expect(statesOf(fleet, jobId)).toEqual(['ready', 'ready']);
  });

  test('repeats the address in heartbeat responses until the trainers run', async () => {
    const { first, second, jobId } = await offerToPair();
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'starting'));
    expect(valueOf(await first.beat(jobId)).rendezvous).toBeUndefined();
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'starting', ready(null)));
    for (const rig of [first, second])
      expect(valueOf(await rig.beat(jobId)).rendezvous).toMatchObject({ address: '10.0.0.7', port: 29_500 });
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'running'));
    for (const rig of [first, second]) expect(valueOf(await rig.beat(jobId)).rendezvous).toBeUndefined();
  });

  test('sends the address to a worker that reconnects after its stream broke', async () => {
    const { first, second, jobId } = await offerToPair();
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'starting'));
    await second.stream.drop();
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'starting', ready('10.0.0.1')));
    expect(second.commandsOf('job_rendezvous')).toEqual([]);
    await second.connect({ currentJobId: jobId });
    expect(second.commandsOf('job_rendezvous')).toHaveLength(1);
  });
});

describe('the end of one of two workers', () => {
  test('completes the job when the first worker completes, and frees the second worker after its own end', async () => {
    const { fleet, first, second, jobId } = await runPair();
    valueOf(await first.report(jobId, 'completed', { exit_code: 0 }));
    expect(fleet.job(jobId).status).toBe('completed');
    expect(second.commandsOf('job_cancel')).toHaveLength(1);
    expect(second.view().status).toBe('busy');
    expect(statesOf(fleet, jobId)).toEqual(['ended', 'stopping']);
    valueOf(await second.report(jobId, 'completed', { exit_code: 0 }));
    expect(second.view().status).toBe('idle');
    expect(nodesOf(fleet, jobId)[1]).toMatchObject({ state: 'ended', outcome: 'completed' });
  });

  test('frees the second worker when it completes first, and keeps the job running', async () => {
    const { fleet, first, second, jobId } = await runPair();
    valueOf(await second.report(jobId, 'completed', { exit_code: 0 }));
    expect(second.view().status).toBe('idle');
    expect(fleet.job(jobId).status).toBe('running');
    valueOf(await first.report(jobId, 'completed', { exit_code: 0 }));
    expect(fleet.job(jobId).status).toBe('completed');
    expect(valueOf(await second.report(jobId, 'completed'))).toEqual({ duplicate: true });
  });

  test('ends the attempt on both workers with the error of the second worker when that worker fails', async () => {
    const { fleet, first, second, jobId } = await runPair({ retry_on: ['trainer_exit'] });
    valueOf(await second.report(jobId, 'failed', { exit_code: 3, error: 'CUDA error' }));
    expect(fleet.job(jobId).status).toBe('cancelling');
    expect(first.commandsOf('job_cancel')).toHaveLength(1);
    valueOf(await first.report(jobId, 'cancelled'));
    expect(fleet.job(jobId).attempts[0]).toMatchObject({
      outcome: 'requeued',
      cause: 'trainer_exit',
      exit_code: 3,
      error_message: 'On worker rig-2 (machine 2): CUDA error',
      used_retry: true,
    });
    expect(fleet.trail(jobId)).toContain('job.node_ended');
  });

  test('ends the attempt on the second worker when the first worker fails', async () => {
    const { fleet, first, second, jobId } = await runPair();
    valueOf(await first.report(jobId, 'failed', { exit_code: 1 }));
    expect(fleet.job(jobId).status).toBe('failed');
    expect(second.commandsOf('job_cancel')).toHaveLength(1);
    expect(valueOf(await second.beat(jobId)).cancel).toMatchObject({ job_id: jobId });
    valueOf(await second.report(jobId, 'cancelled'));
    expect(second.view().status).toBe('idle');
  });

  test('ends the attempt when the second worker is lost, and requeues the job', async () => {
    const { fleet, first, second, jobId } = await runPair();
    // Only the first worker stays in contact.
    for (let n = 0; n < 40 && fleet.job(jobId).status === 'running'; n++) {
      await fleet.clock.advance(20_000);
      await first.beat(jobId);
    }
    expect(fleet.job(jobId).status).toBe('cancelling');
    valueOf(await first.report(jobId, 'cancelled'));
    expect(fleet.job(jobId)).toMatchObject({ status: 'pending' });
    expect(fleet.job(jobId).attempts[0]).toMatchObject({ cause: 'worker_lost', outcome: 'requeued' });
    expect(second.view()).toMatchObject({ status: 'offline', current_job_id: null });
  });

  test('ends the attempt when the second worker returns without its trainer', async () => {
    const { fleet, first, second, jobId } = await runPair();
    await second.connect({ startId: 'another start' });
    expect(fleet.job(jobId).status).toBe('cancelling');
    valueOf(await first.report(jobId, 'cancelled'));
    expect(fleet.job(jobId).attempts[0]).toMatchObject({ cause: 'worker_lost' });
  });

  test('keeps the job running when the second worker loses its connection for a minute', async () => {
    const { fleet, first, second, jobId } = await runPair();
    await second.stream.drop();
    await fleet.clock.advance(60_000);
    await first.beat(jobId);
    await second.connect({ currentJobId: jobId });
    await fleet.clock.advance(60_000);
    expect(fleet.job(jobId).status).toBe('running');
    expect(statesOf(fleet, jobId)).toEqual(['running', 'running']);
  });

  test('uses no retry when the second worker never acknowledges its offer', async () => {
    const { fleet, first, second, jobId } = await offerToPair({ max_retries: 0 });
    const { attempt_id: attempt } = second.lastOffer();
    valueOf(await first.report(jobId, 'starting'));
    await fleet.clock.advance(45_000);
    expect(fleet.job(jobId).status).toBe('cancelling');
    valueOf(await first.report(jobId, 'cancelled'));
    expect(fleet.job(jobId).attempts[0]).toMatchObject({ used_retry: false, cause: null });
    const outcome = await second.report(jobId, 'starting', { attempt_id: attempt });
    expect(refusalOf(outcome)).toMatchObject({ code: 'attempt_superseded' });
  });
});

describe('stopping a job on two workers', () => {
  test('sends a cancel to both workers, and ends the job when the first worker confirms the cancel', async () => {
    const { fleet, first, second, jobId } = await runPair();
    valueOf(await fleet.cancel(jobId));
    for (const rig of [first, second]) expect(rig.commandsOf('job_cancel')).toHaveLength(1);
    valueOf(await first.report(jobId, 'cancelled'));
    expect(fleet.job(jobId).status).toBe('cancelled');
    expect(second.view().status).toBe('busy');
    await second.beat();
    await fleet.clock.advance(60_000);
    await second.beat();
    expect(second.view().status).toBe('idle');
  });

  test('stops both workers when the job is cancelled before the workers get the address of the first worker', async () => {
    const { fleet, first, second, jobId } = await offerToPair();
    valueOf(await second.report(jobId, 'starting'));
    valueOf(await fleet.cancel(jobId));
    for (const rig of [first, second]) valueOf(await rig.report(jobId, 'cancelled'));
    expect(fleet.job(jobId).status).toBe('cancelled');
    expect([first, second].map(rig => rig.view().status)).toEqual(['idle', 'idle']);
  });

  test('requeues the job without a retry at the drain deadline of the second worker', async () => {
    const { fleet, first, second, jobId } = await runPair();
    await fleet.drain(second, { deadlineMs: 10_000 });
    expect(fleet.job(jobId).status).toBe('running');
    await fleet.clock.advance(10_000);
    expect(fleet.job(jobId).status).toBe('cancelling');
    valueOf(await second.report(jobId, 'cancelled'));
    valueOf(await first.report(jobId, 'cancelled'));
    expect(fleet.job(jobId)).toMatchObject({ status: 'pending' });
    expect(fleet.job(jobId).attempts[0]).toMatchObject({ used_retry: false });
  });

  test('frees a worker that has not confirmed its end when the job is deleted', async () => {
    const { fleet, first, second, jobId } = await runPair();
    valueOf(await first.report(jobId, 'completed'));
    expect(second.view().status).toBe('busy');
    valueOf(await fleet.orchestrator.jobs.remove(jobId, ada));
    expect(second.view().status).toBe('idle');
    expect(valueOf(await second.beat(jobId)).abandon_job).toBe(jobId);
    const { jobId: next } = await fleet.submit(onTwoWorkers);
    expect(fleet.job(next).status).toBe('dispatched');
  });

  test('frees both workers when the job is deleted after the second worker confirmed its end', async () => {
    const { fleet, first, second, jobId } = await runPair();
    valueOf(await first.report(jobId, 'completed'));
    valueOf(await second.report(jobId, 'cancelled'));
    valueOf(await fleet.orchestrator.jobs.remove(jobId, ada));
    const { jobId: next } = await fleet.submit(onTwoWorkers);
    expect(fleet.job(next).status).toBe('dispatched');
  });
});

describe('a restart of the orchestrator', () => {
  test('continues an attempt on two workers after a restart when both workers return', async () => {
    const { fleet, first, second, jobId } = await runPair();
    await fleet.restart({ crash: true });
    for (const rig of [first, second]) {
      const { resume_job: resumed } = await rig.register({ currentJobId: jobId });
      expect(resumed).toMatchObject({ job_id: jobId });
      await rig.openStream();
    }
    expect(fleet.job(jobId).status).toBe('running');
    valueOf(await first.report(jobId, 'completed'));
    expect(second.commandsOf('job_cancel')).toHaveLength(1);
  });

  test('does not resume an attempt after its takeover, because the second worker has stopped', async () => {
    const { fleet, first, second, jobId } = await runPair();
    // Only the second worker stays in contact.
    for (let n = 0; n < 40 && fleet.job(jobId).status !== 'pending'; n++) {
      await fleet.clock.advance(20_000);
      await second.beat(jobId);
    }
    expect(fleet.job(jobId).status).toBe('pending');
    const { abandon_job: abandoned } = await first.register({ currentJobId: jobId });
    expect(abandoned).toBe(jobId);
    expect(refusalOf(await first.report(jobId, 'running'))).toMatchObject({ code: 'attempt_superseded' });
  });
});
