// See docs/internals/semantics.md, section 1, and docs/internals/faults.md, F18 and I9.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet, hashOf } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

async function rotate(fleet: Fleet, rig: FleetWorker, mode: 'now' | 'after_job'): Promise<string> {
  const { token } = valueOf(await fleet.orchestrator.workers.rotateToken(rig.id, mode, ada));
  await fleet.clock.settle();
  return token;
}

/** Returns, for each token, whether the token authenticates the worker. */
const authenticates = (fleet: Fleet, rig: FleetWorker, ...tokens: readonly string[]): readonly boolean[] =>
  tokens.map(token => fleet.orchestrator.workers.byTokenHash(hashOf(token)) === rig.id);

describe('rotating a token after the job', () => {
  const start = async (protocol: 1 | 2 = 2) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    return { fleet, rig, job: await fleet.runJob(rig) };
  };

  test.each([1, 2] as const)('accepts both tokens while the job runs (protocol %i)', async protocol => {
    const { fleet, rig, job } = await start(protocol);
    const token = await rotate(fleet, rig, 'after_job');
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([true, true]);
    expect(rig.stream.ended).toBe(false);
    await fleet.clock.advance(100_000);
    await rig.beat(job);
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([true, true]);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test.each(['completed', 'failed', 'cancelled'] as const)(
    'invalidates the old token and closes its stream before the report “%s” is answered',
    async status => {
      const { fleet, rig, job } = await start();
      if (status === 'cancelled') await fleet.cancel(job);
      const token = await rotate(fleet, rig, 'after_job');
      expect((await rig.report(job, status, { exit_code: 1 })).ok).toBe(true);
      expect(authenticates(fleet, rig, rig.token, token)).toEqual([false, true]);
      expect(rig.stream.ended).toBe(true);
    },
  );

  test('dispatches no second job to a worker with the old token', async () => {
    const { fleet, rig, job } = await start();
    const { jobId: next } = await fleet.submit();
    await rotate(fleet, rig, 'after_job');
    await rig.report(job, 'completed');
    await rig.connect();
    expect(rig.stream.commands).toMatchObject([{ type: 'job_submit', job_id: next }]);
  });

  test('rotates the token of an idle worker immediately', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const token = await rotate(fleet, rig, 'after_job');
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([false, true]);
    expect(rig.stream.ended).toBe(true);
  });

  test("keeps the agent's token and only the newest of two rotated tokens", async () => {
    const { fleet, rig, job } = await start();
    const second = await rotate(fleet, rig, 'after_job');
    const third = await rotate(fleet, rig, 'after_job');
    expect(authenticates(fleet, rig, rig.token, second, third)).toEqual([true, false, true]);
    await rig.report(job, 'completed');
    expect(authenticates(fleet, rig, rig.token, second, third)).toEqual([false, false, true]);
  });

  test('keeps only the newest token and closes the stream when the token is rotated immediately', async () => {
    const { fleet, rig } = await start();
    const second = await rotate(fleet, rig, 'after_job');
    const third = await rotate(fleet, rig, 'now');
    expect(authenticates(fleet, rig, rig.token, second, third)).toEqual([false, false, true]);
    expect(rig.stream.ended).toBe(true);
  });

  test('does not repeat a withdrawn offer on the stream that closes with the old token', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit();
    await rotate(fleet, rig, 'after_job');
    await fleet.clock.advance(45_000);
    expect(rig.stream.ended).toBe(true);
    expect(fleet.job(jobId)).toMatchObject({ status: 'pending', attempt: 1 });
    await rig.connect();
    expect(rig.lastOffer()).toMatchObject({ job_id: jobId });
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2 });
  });

  test('invalidates the old token when the job moves to another worker', async () => {
    const { fleet, rig, job } = await start();
    const token = await rotate(fleet, rig, 'after_job');
    await fleet.clock.advance(160_000);
    expect(fleet.job(job).status).toBe('pending');
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([false, true]);
  });

  test.each([
    ['a crash', { crash: true }],
    ['an orderly stop', { crash: false }],
  ])('keeps both tokens valid across %s', async (_case, restart) => {
    const { fleet, rig, job } = await start();
    const token = await rotate(fleet, rig, 'after_job');
    await fleet.restart(restart);
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([true, true]);
    await rig.connect({ currentJobId: job });
    await rig.report(job, 'completed');
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([false, true]);
    expect(rig.stream.ended).toBe(true);
  });

  test('invalidates both tokens when the worker is deleted', async () => {
    const { fleet, rig, job } = await start();
    await rig.report(job, 'completed');
    await rig.disconnect();
    const token = await rotate(fleet, rig, 'now');
    expect((await fleet.orchestrator.workers.remove(rig.id, ada)).ok).toBe(true);
    expect(authenticates(fleet, rig, rig.token, token)).toEqual([false, false]);
  });
});

test('audits the mode of a rotation without any token', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.runJob(rig);
  const tokens = [rig.token, await rotate(fleet, rig, 'after_job'), await rotate(fleet, rig, 'now')];
  const rows = fleet.audit().filter(({ type }) => type === 'worker.token_rotated');
  expect(rows.map(({ details }) => JSON.parse(details) as unknown)).toEqual([
    { mode: 'after_job' },
    { mode: 'now' },
  ]);
  expect(rows).toMatchObject([{ actor_id: 'ada' }, { actor_id: 'ada' }]);
  const text = JSON.stringify([fleet.audit(), fleet.events]);
  for (const token of tokens) {
    expect(text).not.toContain(`"${token}"`);
    expect(text).not.toContain(hashOf(token));
  }
});

test('returns worker_not_found for a rotation of an unknown worker', async () => {
  const fleet = await openFleet();
  const outcome = await fleet.orchestrator.workers.rotateToken('w_9' as never, 'after_job', ada);
  expect(refusalOf(outcome).code).toBe('worker_not_found');
});
