import { describe, expect, it } from 'vitest';
import { permissions } from '../../../../../../protocol/call.ts';
import type { Concurrency } from '../../../../../../protocol/queue.ts';
import { NewToken } from '../../../../../../protocol/tokens-api.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';
import type { Actor } from '../../../../../../main/orchestrator/ports/index.ts';

/** Creates a token for a user of `team`. Returns the user. */
async function addUser(
  fleet: Fleet,
  name: string,
  team: string | null,
  userPermissions: NewToken['permissions'] = ['queue.submit'],
): Promise<Actor> {
  const token = NewToken.parse({ name, team, permissions: userPermissions });
  valueOf(await fleet.orchestrator.access.createToken(token, permissions, ada));
  await fleet.clock.settle();
  return { type: 'admin', id: name, address: null };
}

async function limit(fleet: Fleet, limits: Partial<Concurrency>): Promise<Concurrency> {
  const concurrency = await fleet.orchestrator.queue.limit(limits, ada);
  await fleet.clock.settle();
  return concurrency;
}

async function openTeams(options: { readonly storeFile?: string } = {}) {
  const fleet = await openFleet(options);
  const nlp = await addUser(fleet, 'nina', 'nlp');
  const vision = await addUser(fleet, 'vik', 'vision');
  return { fleet, nlp, vision };
}

describe('concurrency limit of a team', () => {
  it('keeps jobs of a team at its limit pending, and names the limit as the reason', async () => {
    const { fleet, nlp, vision } = await openTeams();
    await limit(fleet, { team_max_concurrent: 1 });
    for (let n = 0; n < 3; n++) await fleet.addIdleWorker();
    const running = await fleet.submit({}, nlp);
    const held = await fleet.submit({}, nlp);
    expect([running.status, held.status]).toEqual(['running', 'queued']);
    expect(fleet.job(held.jobId)).toMatchObject({
      team: 'nlp',
      reason: '1 of 1 jobs of team nlp run: the limit of this team',
    });
    expect(valueOf(fleet.orchestrator.jobs.explain(held.jobId)).reasons).toMatchObject([{ code: 'limit' }]);
    expect((await fleet.submit({}, vision)).status).toBe('running');
    await fleet.cancel(running.jobId);
    expect(fleet.job(running.jobId).status).toBe('cancelling');
  });

  it('dispatches the next job of a team when one of its jobs ends', async () => {
    const { fleet, nlp } = await openTeams();
    await limit(fleet, { team_max_concurrent: 1 });
    const rig = await fleet.addIdleWorker();
    await fleet.addIdleWorker();
    const first = await fleet.submit({}, nlp);
    const second = await fleet.submit({}, nlp);
    await rig.run(first.jobId);
    await rig.report(first.jobId, 'completed');
    expect(fleet.job(second.jobId).status).toBe('dispatched');
  });

  it('keeps the limit of a team after a restart and after its token was revoked', async () => {
    const { fleet, nlp } = await openTeams();
    await limit(fleet, { team_max_concurrent: 1 });
    const rig = await fleet.addIdleWorker();
    const first = await fleet.submit({}, nlp);
    await rig.run(first.jobId);
    const second = await fleet.submit({}, nlp);
    const token = fleet.orchestrator.access.listTokens().find(({ name }) => name === 'nina');
    if (token === undefined) throw new Error('nina has no token');
    valueOf(await fleet.orchestrator.access.revokeToken(token.id, ada));
    await fleet.restart();
    await fleet.addIdleWorker();
    expect(fleet.job(second.jobId)).toMatchObject({
      status: 'pending',
      reason: expect.stringContaining('team nlp'),
    });
  });

  it("prefers a team's own limit, also null for no limit, to the default limit of teams", async () => {
    const { fleet, nlp, vision } = await openTeams();
    await limit(fleet, { team_max_concurrent: 1, team_limits: { nlp: 2, vision: null } });
    for (let n = 0; n < 6; n++) await fleet.addIdleWorker();
    for (let n = 0; n < 3; n++) {
      await fleet.submit({}, nlp);
      await fleet.submit({}, vision);
    }
    const live = fleet.store.liveJobs().map(({ team }) => team);
    expect(live.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      'nlp',
      'nlp',
      'vision',
      'vision',
      'vision',
    ]);
  });

  it('applies no team limit to jobs without a team, or when fair share is off', async () => {
    const { fleet, nlp } = await openTeams();
    await limit(fleet, { team_max_concurrent: 0 });
    await fleet.addIdleWorker();
    await fleet.addIdleWorker();
    expect((await fleet.submit()).status).toBe('running');
    const held = await fleet.submit({}, nlp);
    expect(held.status).toBe('queued');
    await limit(fleet, { enable_fair_share: false });
    expect(fleet.job(held.jobId).status).toBe('dispatched');
  });
});

describe('fair share', () => {
  /** Submits six jobs of nlp and three of vision, then adds workers one by one, and returns the teams in start order. */
  const startOrder = async (settings: Partial<Concurrency>, priorities: readonly number[] = []) => {
    const { fleet, nlp, vision } = await openTeams();
    await limit(fleet, settings);
    for (let n = 0; n < 6; n++) await fleet.submit({ priority: priorities[0] }, nlp);
    for (let n = 0; n < 3; n++) await fleet.submit({ priority: priorities[1] }, vision);
    const order: (string | null)[] = [];
    for (let n = 0; n < 6; n++) {
      const rig = await fleet.addIdleWorker();
      order.push(fleet.store.liveJobOf(rig.id)?.team ?? null);
    }
    return order;
  };

  it('dispatches the next job of the team with the fewest running jobs', async () => {
    expect(await startOrder({})).toEqual(['nlp', 'vision', 'nlp', 'vision', 'nlp', 'vision']);
  });

  it('dispatches jobs by priority before fair share', async () => {
    expect(await startOrder({}, [30, 10])).toEqual(Array.from({ length: 6 }, () => 'nlp'));
  });

  it('dispatches jobs in submission order when fair share is off', async () => {
    expect(await startOrder({ enable_fair_share: false })).toEqual(Array.from({ length: 6 }, () => 'nlp'));
  });

  it('dispatches a job without a team in submission order', async () => {
    const { fleet, nlp, vision } = await openTeams();
    const jobs = [await fleet.submit({}, nlp), await fleet.submit(), await fleet.submit({}, nlp)];
    jobs.push(await fleet.submit({}, vision));
    const order: number[] = [];
    for (let n = 0; n < 4; n++) {
      const rig = await fleet.addIdleWorker();
      order.push(jobs.findIndex(({ jobId }) => jobId === fleet.store.liveJobOf(rig.id)?.id));
    }
    expect(order).toEqual([0, 1, 3, 2]);
  });
});

describe('approval required by the queue', () => {
  it('blocks every new job of the users in approval_required_for', async () => {
    const { fleet, nlp, vision } = await openTeams();
    await fleet.addIdleWorker();
    await limit(fleet, { approval_required_for: ['nina'] });
    const blocked = await fleet.submit({}, nlp);
    expect(blocked.status).toBe('blocked');
    expect(fleet.job(blocked.jobId)).toMatchObject({ status: 'blocked', approval: 'wanted' });
    expect((await fleet.submit({}, vision)).status).toBe('running');
    const rejected = valueOf(await fleet.trySubmit({ no_wait: true }, nlp));
    expect(rejected).toMatchObject({
      status: 'rejected',
      reason: expect.stringContaining('Waits for approval'),
    });
  });

  it('blocks the jobs of all users who may not manage the queue when approval_required_for is *', async () => {
    const { fleet, nlp } = await openTeams();
    const manager = await addUser(fleet, 'manager', null, ['queue.submit', 'queue.manage']);
    await limit(fleet, { approval_required_for: ['*'] });
    const statuses = [];
    const admin: Actor = { type: 'admin', id: 'admin', address: null };
    for (const user of [nlp, ada, manager, admin]) statuses.push((await fleet.submit({}, user)).status);
    expect(statuses).toEqual(['blocked', 'blocked', 'queued', 'queued']);
  });

  it('blocks retries by the users in approval_required_for', async () => {
    const { fleet, nlp } = await openTeams();
    const { jobId } = await fleet.submit({}, nlp);
    await fleet.cancel(jobId);
    await limit(fleet, { approval_required_for: ['nina'] });
    expect(valueOf(await fleet.orchestrator.jobs.retry(jobId, nlp)).status).toBe('blocked');
  });

  it('audits who changed approval_required_for', async () => {
    const { fleet } = await openTeams();
    const limits = { approval_required_for: ['*', 'nina'], team_limits: { nlp: 2 } };
    expect(await limit(fleet, limits)).toMatchObject(limits);
    const row = fleet.audit().findLast(({ type }) => type === 'queue.limits_changed');
    expect(row).toMatchObject({ actor_id: 'ada', details: expect.stringContaining('"nina"') });
  });
});
