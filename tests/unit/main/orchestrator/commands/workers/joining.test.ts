/** Join tokens: their effect on their worker, and what invalidates them. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet, hashOf } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const hour = 3_600_000;

async function offer(fleet: Fleet, rig: FleetWorker, lastsMs = hour): Promise<string> {
  const made = valueOf(await fleet.orchestrator.workers.createJoinToken(rig.id, lastsMs, ada));
  await fleet.clock.settle();
  return made.token;
}

const join = async (fleet: Fleet, joinToken: string, token: string) => {
  const outcome = await fleet.orchestrator.workers.join(hashOf(joinToken), hashOf(token), '10.0.0.9');
  await fleet.clock.settle();
  return outcome;
};

/** Which of these tokens are let in, and whether to this worker. */
const opens = (fleet: Fleet, rig: FleetWorker, ...tokens: readonly string[]): readonly boolean[] =>
  tokens.map(token => fleet.orchestrator.workers.byTokenHash(hashOf(token)) === rig.id);

const invalid = { code: 'join_token_invalid' };
const used = { code: 'join_token_used' };

describe('a join token', () => {
  test('says until when it works, and changes nothing until it is used', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ name: 'rig-1', type: 'ephemeral' });
    const made = valueOf(await fleet.orchestrator.workers.createJoinToken(rig.id, 60_000, ada));
    expect(made).toEqual({
      workerId: rig.id,
      name: 'rig-1',
      persistent: false,
      token: 'tj_1',
      expiresAt: fleet.clock.iso(fleet.clock.wall() + 60_000),
    });
    expect(opens(fleet, rig, rig.token, made.token)).toEqual([true, false]);
    expect(rig.stream.ended).toBe(false);
  });

  test('makes the token that comes with it the only one of its worker, as a rotation would', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ name: 'rig-1' });
    const other = await fleet.addIdleWorker();
    const outcome = await join(fleet, await offer(fleet, rig), 'wt_mine');
    expect(valueOf(outcome)).toEqual({ worker_id: rig.id, name: 'rig-1', worker_type: 'persistent' });
    expect(opens(fleet, rig, 'wt_mine', rig.token)).toEqual([true, false]);
    expect(opens(fleet, other, other.token)).toEqual([true]);
    expect(rig.stream.ended).toBe(true);
    expect(other.stream.ended).toBe(false);
  });

  test('closes the stream of the old token before it is answered', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const joinToken = await offer(fleet, rig);
    let wasOpen: boolean | null = null;
    await fleet.orchestrator.workers.join(hashOf(joinToken), hashOf('wt_mine'), null).then(() => {
      wasOpen = !rig.stream.ended;
    });
    expect(wasOpen).toBe(false);
  });

  test('ends both tokens of a rotation that waits for the end of a job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    const second = valueOf(await fleet.orchestrator.workers.rotateToken(rig.id, 'after_job', ada)).token;
    valueOf(await join(fleet, await offer(fleet, rig), 'wt_mine'));
    expect(opens(fleet, rig, rig.token, second, 'wt_mine')).toEqual([false, false, true]);
  });

  test('works once: for another token it is used up, and that one opens nothing', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    const joinToken = await offer(fleet, rig);
    valueOf(await join(fleet, joinToken, 'wt_mine'));
    expect(refusalOf(await join(fleet, joinToken, 'wt_theirs'))).toEqual(used);
    expect(opens(fleet, rig, 'wt_mine', 'wt_theirs')).toEqual([true, false]);
  });

  test.each([
    ['in its time', 0],
    ['after it', 2 * hour],
  ])(
    'that is shown again with the same token, %s, is answered the same, and nothing happens',
    async (_when, ms) => {
      const fleet = await openFleet();
      const rig = await fleet.addWorker();
      const joinToken = await offer(fleet, rig);
      const first = await join(fleet, joinToken, 'wt_mine');
      await rig.connect();
      await fleet.clock.advance(ms);
      await rig.connect();
      const rows = fleet.audit().length;
      expect(await join(fleet, joinToken, 'wt_mine')).toEqual(first);
      expect(rig.stream.ended).toBe(false);
      expect(fleet.audit()).toHaveLength(rows);
    },
  );

  test('expires to the millisecond', async () => {
    const fleet = await openFleet();
    const [early, late] = [await fleet.addWorker(), await fleet.addWorker()];
    const tokens = [await offer(fleet, early, 60_000), await offer(fleet, late, 60_000)] as const;
    await fleet.clock.advance(59_999);
    valueOf(await join(fleet, tokens[0], 'wt_early'));
    await fleet.clock.advance(1);
    expect(refusalOf(await join(fleet, tokens[1], 'wt_late'))).toEqual(invalid);
    expect(opens(fleet, late, late.token, 'wt_late')).toEqual([true, false]);
  });

  test.each<[string, (fleet: Fleet, rig: FleetWorker) => Promise<unknown>]>([
    ['a newer one', (fleet, rig) => offer(fleet, rig)],
    ['a rotation', (fleet, rig) => fleet.orchestrator.workers.rotateToken(rig.id, 'now', ada)],
    [
      'a rotation after the job',
      (fleet, rig) => fleet.orchestrator.workers.rotateToken(rig.id, 'after_job', ada),
    ],
    ['the deletion of its worker', (fleet, rig) => fleet.orchestrator.workers.remove(rig.id, ada)],
  ])('is void after %s, whether it was used or not', async (_what, act) => {
    const fleet = await openFleet();
    for (const isUsed of [false, true]) {
      const rig = await fleet.addWorker();
      const joinToken = await offer(fleet, rig);
      if (isUsed) valueOf(await join(fleet, joinToken, 'wt_mine'));
      await act(fleet, rig);
      expect(fleet.orchestrator.workers.knowsJoinToken(hashOf(joinToken))).toBe(false);
      expect(refusalOf(await join(fleet, joinToken, 'wt_mine'))).toEqual(invalid);
    }
  });

  test('of an ephemeral worker that never came goes with it', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    const joinToken = await offer(fleet, rig, 7 * 24 * hour);
    await fleet.clock.advance(2 * hour);
    expect(fleet.orchestrator.workers.get(rig.id).ok).toBe(false);
    expect(refusalOf(await join(fleet, joinToken, 'wt_mine'))).toEqual(invalid);
  });

  test.each([true, false])('is not forgotten over a restart (crash: %s), used or not', async crash => {
    const fleet = await openFleet();
    const [first, second] = [await fleet.addWorker(), await fleet.addWorker()];
    const tokens = [await offer(fleet, first), await offer(fleet, second)] as const;
    valueOf(await join(fleet, tokens[0], 'wt_first'));
    await fleet.restart({ crash });
    expect(refusalOf(await join(fleet, tokens[0], 'wt_other'))).toEqual(used);
    valueOf(await join(fleet, tokens[0], 'wt_first'));
    valueOf(await join(fleet, tokens[1], 'wt_second'));
    expect(opens(fleet, second, 'wt_second')).toEqual([true]);
  });

  test.each<[string, (fleet: Fleet, joinToken: string) => Promise<string>]>([
    ['of another worker', async fleet => (await fleet.addWorker()).token],
    ['that is the join token itself', async (_fleet, joinToken) => joinToken],
    ['that the worker has already', async () => 'wt_1'],
  ])('takes no token %s', async (_what, tokenOf) => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    const joinToken = await offer(fleet, rig);
    const refused = await join(fleet, joinToken, await tokenOf(fleet, joinToken));
    expect(refusalOf(refused)).toEqual({ code: 'invalid_request' });
    expect(opens(fleet, rig, rig.token)).toEqual([true]);
    valueOf(await join(fleet, joinToken, 'wt_mine'));
  });

  test('for a worker that nobody knows is not made', async () => {
    const fleet = await openFleet();
    const outcome = await fleet.orchestrator.workers.createJoinToken('w_9' as never, hour, ada);
    expect(refusalOf(outcome).code).toBe('worker_not_found');
  });
});

describe('the machine that has joined', () => {
  test.each([1, 2] as const)(
    'is no rival of the one that had the old token (protocol %i)',
    async protocol => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ agent: { protocol, host: 'old' } });
      valueOf(await join(fleet, await offer(fleet, rig), 'wt_mine'));
      const elsewhere = {
        protocol,
        host: 'new',
        instanceId: 'new',
        startId: 'new',
        address: '10.0.0.9',
      } as const;
      await rig.connect(elsewhere);
      expect(rig.view()).toMatchObject({ status: 'idle', host: 'new', duplicate: null });
      expect(fleet.trail(rig.id)).not.toContain('worker.duplicate');
    },
  );

  test('takes up the job that runs there', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    valueOf(await join(fleet, await offer(fleet, rig), 'wt_mine'));
    await rig.connect({ currentJobId: job, startId: 'restarted' });
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    await rig.report(job, 'completed');
    expect(fleet.job(job)).toMatchObject({ status: 'completed', attempt: 1 });
  });
});

test('the trail says who made it and from where it was used, without a secret', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addWorker();
  const joinToken = await offer(fleet, rig, 60_000);
  await join(fleet, joinToken, 'wt_mine');
  await join(fleet, joinToken, 'wt_theirs');
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
  for (const token of [joinToken, 'wt_mine', 'wt_theirs']) {
    expect(text).not.toContain(`"${token}"`);
    expect(text).not.toContain(hashOf(token));
  }
});
