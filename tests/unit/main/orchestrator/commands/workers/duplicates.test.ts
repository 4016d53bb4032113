/**
 * Two machines with one token: docs/internals/semantics.md, section 1; docs/internals/faults.md F19. T = 120 s: the
 * first machine counts as present for 45 s.
 */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import type { AgentOptions } from '../../../../../support/fleet-worker.ts';

const incumbency = 45_000;

/** How another machine introduces itself, by protocol. */
const others: readonly (readonly [what: string, protocol: 1 | 2, other: AgentOptions])[] = [
  ['another instance', 2, { instanceId: 'another' }],
  ['another host', 1, { host: 'another' }],
  ['the same host name elsewhere', 1, { address: '10.9.9.9' }],
];

describe.each(others)('%s (protocol %i)', (_what, protocol, other) => {
  const open = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol, host: 'incumbent' } });
    return { fleet, rig };
  };

  test('is turned away while the incumbent is in contact, and the incumbent goes on untouched', async () => {
    const { fleet, rig } = await open();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(incumbency - 1);
    const before = { ...rig.view(), duplicate: null };
    expect(refusalOf(await rig.tryRegister({ ...other, currentJobId: job }))).toEqual({
      code: 'duplicate_registration',
    });
    expect({ ...rig.view(), duplicate: null }).toEqual(before);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(rig.stream.ended).toBe(false);
    await rig.report(job, 'completed');
    expect(fleet.job(job).status).toBe('completed');
  });

  test('is told of: an event, an audit row with where it comes from, and a line in the view', async () => {
    const { fleet, rig } = await open();
    await rig.tryRegister({ host: 'intruder', address: '10.6.6.6', ...other });
    const { host = 'intruder', address = '10.6.6.6' } = other;
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.duplicate');
    expect(fleet.audit().at(-1)).toMatchObject({
      type: 'worker.duplicate',
      actor_type: 'worker',
      actor_id: rig.id,
      address,
      target_id: rig.id,
    });
    expect(rig.view().duplicate).toEqual({ at: '2026-01-01T12:00:00.000Z', host, address });
    await fleet.clock.advance(1_000);
    await rig.tryRegister({});
    expect(rig.view().duplicate).toMatchObject({ at: '2026-01-01T12:00:01.000Z' });
  });

  test('makes no contact, however often it tries', async () => {
    const { fleet, rig } = await open();
    for (let s = 0; s < 44; s += 4) {
      await fleet.clock.advance(4_000);
      expect((await rig.tryRegister(other)).ok).toBe(false);
    }
    expect(rig.view().last_contact_age_s).toBe(44);
    await fleet.clock.advance(1_000);
    expect((await rig.tryRegister(other)).ok).toBe(true);
  });

  test.each([incumbency, incumbency + 1, 119_999])(
    'takes the place of one that was silent for %d ms',
    async ms => {
      const { fleet, rig } = await open();
      await fleet.clock.advance(ms);
      await rig.register(other);
      expect(rig.view()).toMatchObject({ status: 'idle', last_contact_age_s: 0 });
      expect(fleet.trail(rig.id)).not.toContain('worker.duplicate');
    },
  );

  test('that has taken the place is the incumbent from then on', async () => {
    const { fleet, rig } = await open();
    await fleet.clock.advance(incumbency);
    await rig.register(other);
    const back = { instanceId: `instance-of-${rig.id}`, host: 'incumbent', address: '10.0.0.7' };
    expect(refusalOf(await rig.tryRegister(back)).code).toBe('duplicate_registration');
  });

  test.each<[string, 'goodbye' | 'silence']>([
    ['said goodbye', 'goodbye'],
    ['is offline', 'silence'],
  ])('may join once the incumbent %s', async (_how, how) => {
    const { fleet, rig } = await open();
    if (how === 'goodbye') await rig.disconnect();
    else await fleet.clock.advance(120_000);
    await rig.connect(other);
    expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
  });

  test('does not find a job that the incumbent had claimed', async () => {
    const { fleet, rig } = await open();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(incumbency);
    await rig.register(other);
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('of two that come at once after a silence, the first one stays', async () => {
    const { fleet, rig } = await open();
    await fleet.clock.advance(incumbency);
    const [first, second] = await Promise.all([
      rig.tryRegister(other),
      rig.tryRegister({ instanceId: 'a-third', host: 'a-third' }),
    ]);
    expect(first.ok).toBe(true);
    expect(refusalOf(second).code).toBe('duplicate_registration');
  });

  test('is as good as the incumbent right after the orchestrator’s own start, as long as that was not heard', async () => {
    const { fleet, rig } = await open();
    await fleet.restart({ crash: true });
    await rig.connect(other);
    expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
  });

  test('is turned away after the orchestrator’s own start, too, once the incumbent is back', async () => {
    const { fleet, rig } = await open();
    await fleet.restart();
    await rig.beat();
    expect(refusalOf(await rig.tryRegister(other)).code).toBe('duplicate_registration');
  });
});

test.each<[string, AgentOptions]>([
  ['another start of its agent', { startId: 'another' }],
  ['another name and address of the same machine', { host: 'another', address: '10.9.9.9' }],
])('%s is no duplicate (protocol 2)', async (_what, agent) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await rig.connect(agent);
  expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
});

test('the published agent that registers again at once is no duplicate', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await rig.connect({});
  expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
});

test('workers with tokens of their own do not stand in each other’s way, even on one machine', async () => {
  const fleet = await openFleet();
  const agent = { instanceId: 'one-machine', host: 'one-host' };
  const rigs = [await fleet.addIdleWorker({ agent }), await fleet.addIdleWorker({ agent })];
  expect(rigs.map(rig => rig.view().status)).toEqual(['idle', 'idle']);
});
