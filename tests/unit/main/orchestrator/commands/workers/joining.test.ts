import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet, hashOf } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const hourMs = 3_600_000;

async function createJoinToken(fleet: Fleet, rig: FleetWorker, lifetimeMs = hourMs): Promise<string> {
  const issuedToken = valueOf(await fleet.orchestrator.workers.createJoinToken(rig.id, lifetimeMs, ada));
  await fleet.clock.settle();
  return issuedToken.token;
}

const join = async (fleet: Fleet, joinToken: string, token: string) => {
  const outcome = await fleet.orchestrator.workers.join(hashOf(joinToken), hashOf(token), '10.0.0.9');
  await fleet.clock.settle();
  return outcome;
};

/** Returns, for each token, whether the token authenticates the worker. */
const authenticates = (fleet: Fleet, rig: FleetWorker, ...tokens: readonly string[]): readonly boolean[] =>
  tokens.map(token => fleet.orchestrator.workers.byTokenHash(hashOf(token)) === rig.id);

const invalid = { code: 'join_token_invalid' };
const used = { code: 'join_token_used' };

describe('a join token', () => {
  test('returns the expiry of a join token, and does not change the worker before the token is used', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ name: 'rig-1', type: 'ephemeral' });
    const issuedToken = valueOf(await fleet.orchestrator.workers.createJoinToken(rig.id, 60_000, ada));
    expect(issuedToken).toEqual({
      workerId: rig.id,
      name: 'rig-1',
      persistent: false,
      token: 'tj_1',
      expiresAt: fleet.clock.iso(fleet.clock.wall() + 60_000),
    });
    expect(authenticates(fleet, rig, rig.token, issuedToken.token)).toEqual([true, false]);
    expect(rig.stream.ended).toBe(false);
  });

  test("replaces the worker's token with the token of the joining machine, and closes the worker's stream", async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ name: 'rig-1' });
    const otherRig = await fleet.addIdleWorker();
    const outcome = await join(fleet, await createJoinToken(fleet, rig), 'wt_joined');
    expect(valueOf(outcome)).toEqual({ worker_id: rig.id, name: 'rig-1', worker_type: 'persistent' });
    expect(authenticates(fleet, rig, 'wt_joined', rig.token)).toEqual([true, false]);
    expect(authenticates(fleet, otherRig, otherRig.token)).toEqual([true]);
    expect(rig.stream.ended).toBe(true);
    expect(otherRig.stream.ended).toBe(false);
  });

  test('closes the stream of the old token before the join returns', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const joinToken = await createJoinToken(fleet, rig);
    let wasOpen: boolean | null = null;
    await fleet.orchestrator.workers.join(hashOf(joinToken), hashOf('wt_joined'), null).then(() => {
      wasOpen = !rig.stream.ended;
    });
    expect(wasOpen).toBe(false);
  });

  test('invalidates both tokens of a rotation that waits for the end of a job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    const second = valueOf(await fleet.orchestrator.workers.rotateToken(rig.id, 'after_job', ada)).token;
    valueOf(await join(fleet, await createJoinToken(fleet, rig), 'wt_joined'));
    expect(authenticates(fleet, rig, rig.token, second, 'wt_joined')).toEqual([false, false, true]);
  });

  test('refuses a used join token on a second machine', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    const joinToken = await createJoinToken(fleet, rig);
    valueOf(await join(fleet, joinToken, 'wt_joined'));
    expect(refusalOf(await join(fleet, joinToken, 'wt_second'))).toEqual(used);
    expect(authenticates(fleet, rig, 'wt_joined', 'wt_second')).toEqual([true, false]);
  });

  test.each([
    ['before the join token expires', 0],
    ['after the join token expired', 2 * hourMs],
  ])('returns the same result when a machine repeats its join %s', async (_case, waitMs) => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    const joinToken = await createJoinToken(fleet, rig);
    const first = await join(fleet, joinToken, 'wt_joined');
    await rig.connect();
    await fleet.clock.advance(waitMs);
    await rig.connect();
    const rows = fleet.audit().length;
    expect(await join(fleet, joinToken, 'wt_joined')).toEqual(first);
    expect(rig.stream.ended).toBe(false);
    expect(fleet.audit()).toHaveLength(rows);
  });

  test('refuses a join token from its expiry time on', async () => {
    const fleet = await openFleet();
    const [earlyRig, lateRig] = [await fleet.addWorker(), await fleet.addWorker()];
    const tokens = [
      await createJoinToken(fleet, earlyRig, 60_000),
      await createJoinToken(fleet, lateRig, 60_000),
    ] as const;
    await fleet.clock.advance(59_999);
    valueOf(await join(fleet, tokens[0], 'wt_early'));
    await fleet.clock.advance(1);
    expect(refusalOf(await join(fleet, tokens[1], 'wt_late'))).toEqual(invalid);
    expect(authenticates(fleet, lateRig, lateRig.token, 'wt_late')).toEqual([true, false]);
  });

  test.each<[string, (fleet: Fleet, rig: FleetWorker) => Promise<unknown>]>([
    ['a newer join token', (fleet, rig) => createJoinToken(fleet, rig)],
    ['a rotation', (fleet, rig) => fleet.orchestrator.workers.rotateToken(rig.id, 'now', ada)],
    [
      'a rotation after the job',
      (fleet, rig) => fleet.orchestrator.workers.rotateToken(rig.id, 'after_job', ada),
    ],
    ['the deletion of its worker', (fleet, rig) => fleet.orchestrator.workers.remove(rig.id, ada)],
  ])('invalidates a used or unused join token after %s', async (_case, invalidate) => {
    const fleet = await openFleet();
    for (const isUsed of [false, true]) {
      const rig = await fleet.addWorker();
      const joinToken = await createJoinToken(fleet, rig);
      if (isUsed) valueOf(await join(fleet, joinToken, 'wt_joined'));
      await invalidate(fleet, rig);
      expect(fleet.orchestrator.workers.knowsJoinToken(hashOf(joinToken))).toBe(false);
      expect(refusalOf(await join(fleet, joinToken, 'wt_joined'))).toEqual(invalid);
    }
  });

  test('invalidates the join token of an ephemeral worker when the worker is removed', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    const joinToken = await createJoinToken(fleet, rig, 7 * 24 * hourMs);
    await fleet.clock.advance(2 * hourMs);
    expect(fleet.orchestrator.workers.get(rig.id).ok).toBe(false);
    expect(refusalOf(await join(fleet, joinToken, 'wt_joined'))).toEqual(invalid);
  });

  test.each([true, false])('keeps used and unused join tokens across a restart (crash: %s)', async crash => {
    const fleet = await openFleet();
    const [first, second] = [await fleet.addWorker(), await fleet.addWorker()];
    const tokens = [await createJoinToken(fleet, first), await createJoinToken(fleet, second)] as const;
    valueOf(await join(fleet, tokens[0], 'wt_first'));
    await fleet.restart({ crash });
    expect(refusalOf(await join(fleet, tokens[0], 'wt_other'))).toEqual(used);
    valueOf(await join(fleet, tokens[0], 'wt_first'));
    valueOf(await join(fleet, tokens[1], 'wt_second'));
    expect(authenticates(fleet, second, 'wt_second')).toEqual([true]);
  });

  test.each<[string, (fleet: Fleet, joinToken: string) => Promise<string>]>([
    ['of another worker', async fleet => (await fleet.addWorker()).token],
    ['that is the join token itself', async (_fleet, joinToken) => joinToken],
    ['that the worker already has', async () => 'wt_1'],
  ])('refuses to join with a token %s', async (_case, createToken) => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    const joinToken = await createJoinToken(fleet, rig);
    const outcome = await join(fleet, joinToken, await createToken(fleet, joinToken));
    expect(refusalOf(outcome)).toEqual({ code: 'invalid_request' });
    expect(authenticates(fleet, rig, rig.token)).toEqual([true]);
    valueOf(await join(fleet, joinToken, 'wt_joined'));
  });

  test('returns worker_not_found when a join token is created for an unknown worker', async () => {
    const fleet = await openFleet();
    const outcome = await fleet.orchestrator.workers.createJoinToken('w_9' as never, hourMs, ada);
    expect(refusalOf(outcome).code).toBe('worker_not_found');
  });
});

describe('the machine that joined', () => {
  test.each([1, 2] as const)(
    'accepts the joined machine instead of the machine with the old token (protocol %i)',
    async protocol => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ agent: { protocol, host: 'old' } });
      valueOf(await join(fleet, await createJoinToken(fleet, rig), 'wt_joined'));
      const joinedAgent = {
        protocol,
        host: 'new',
        instanceId: 'new',
        startId: 'new',
        address: '10.0.0.9',
      } as const;
      await rig.connect(joinedAgent);
      expect(rig.view()).toMatchObject({ status: 'idle', host: 'new', duplicate: null });
      expect(fleet.trail(rig.id)).not.toContain('worker.duplicate');
    },
  );

  test('resumes the running job of a machine that joined', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    valueOf(await join(fleet, await createJoinToken(fleet, rig), 'wt_joined'));
    await rig.connect({ currentJobId: job, startId: 'restarted' });
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    await rig.report(job, 'completed');
    expect(fleet.job(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });
});

test('audits who created a join token and where it was used, without secrets', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker();
  const joinToken = await createJoinToken(fleet, rig, 60_000);
  await join(fleet, joinToken, 'wt_joined');
  await join(fleet, joinToken, 'wt_second');
  expect(fleet.trail(rig.id)).toEqual(['worker.created', 'worker.join_token_created', 'worker.joined']);
  expect(fleet.audit().slice(-2)).toMatchObject([
    {
      type: 'worker.join_token_created',
      actor_id: 'ada',
      details: JSON.stringify({ expires_at: fleet.clock.iso(fleet.clock.wall() + 60_000) }),
    },
    { type: 'worker.joined', actor_type: 'worker', actor_id: rig.id, address: '10.0.0.9', details: '{}' },
  ]);
  const text = JSON.stringify([fleet.audit(), fleet.events]);
  for (const token of [joinToken, 'wt_joined', 'wt_second']) {
    expect(text).not.toContain(`"${token}"`);
    expect(text).not.toContain(hashOf(token));
  }
});
