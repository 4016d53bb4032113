// See docs/internals/semantics.md, section 1, and docs/internals/faults.md, F19. The first
// machine counts as present for 3T/8 after its last contact. T, the heartbeat timeout, is 120 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import type { AgentOptions } from '../../../../../support/fleet-worker.ts';

const presenceMs = 45_000;

/** Registrations of another machine with the same token. */
const otherAgents: readonly (readonly [title: string, protocol: 1 | 2, other: AgentOptions])[] = [
  ['another instance', 2, { instanceId: 'another' }],
  ['another host', 1, { host: 'another' }],
  ['the same host name at another address', 1, { address: '10.9.9.9' }],
];

describe.each(otherAgents)('registering %s (protocol %i)', (_title, protocol, otherAgent) => {
  const openWithFirst = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol, host: 'incumbent' } });
    return { fleet, rig };
  };

  test('rejects the duplicate while the first instance is in contact, and does not change the first instance', async () => {
    const { fleet, rig } = await openWithFirst();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(presenceMs - 1);
    const before = { ...rig.view(), duplicate: null };
    expect(refusalOf(await rig.tryRegister({ ...otherAgent, currentJobId: job }))).toEqual({
      code: 'duplicate_registration',
    });
    expect({ ...rig.view(), duplicate: null }).toEqual(before);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(rig.stream.ended).toBe(false);
    await rig.report(job, 'completed');
    expect(fleet.job(job).status).toBe('completed');
  });

  test('records an event and an audit row with the address of the duplicate, and shows the duplicate', async () => {
    const { fleet, rig } = await openWithFirst();
    await rig.tryRegister({ host: 'intruder', address: '10.6.6.6', ...otherAgent });
    const { host = 'intruder', address = '10.6.6.6' } = otherAgent;
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

  test('does not count the registrations of a duplicate as contact', async () => {
    const { fleet, rig } = await openWithFirst();
    for (let seconds = 0; seconds < 44; seconds += 4) {
      await fleet.clock.advance(4_000);
      expect((await rig.tryRegister(otherAgent)).ok).toBe(false);
    }
    expect(rig.view().last_contact_age_s).toBe(44);
    await fleet.clock.advance(1_000);
    expect((await rig.tryRegister(otherAgent)).ok).toBe(true);
  });

  test.each([presenceMs, presenceMs + 1, 119_999])(
    'accepts a second instance when the first instance was silent for %d ms',
    async ms => {
      const { fleet, rig } = await openWithFirst();
      await fleet.clock.advance(ms);
      await rig.register(otherAgent);
      expect(rig.view()).toMatchObject({ status: 'idle', last_contact_age_s: 0 });
      expect(fleet.trail(rig.id)).not.toContain('worker.duplicate');
    },
  );

  test('rejects the first instance as a duplicate after the second instance was accepted', async () => {
    const { fleet, rig } = await openWithFirst();
    await fleet.clock.advance(presenceMs);
    await rig.register(otherAgent);
    const firstInstance = { instanceId: `instance-of-${rig.id}`, host: 'incumbent', address: '10.0.0.7' };
    expect(refusalOf(await rig.tryRegister(firstInstance)).code).toBe('duplicate_registration');
  });

  test.each<[string, 'goodbye' | 'silence']>([
    ['disconnected', 'goodbye'],
    ['is offline', 'silence'],
  ])('accepts a second instance once the first instance %s', async (_case, reason) => {
    const { fleet, rig } = await openWithFirst();
    if (reason === 'goodbye') await rig.disconnect();
    else await fleet.clock.advance(120_000);
    await rig.connect(otherAgent);
    expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
  });

  test('ends the attempt of the first instance when a second instance registers without the job', async () => {
    const { fleet, rig } = await openWithFirst();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(presenceMs);
    await rig.register(otherAgent);
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('accepts the first of two instances that register at the same time after a silence', async () => {
    const { fleet, rig } = await openWithFirst();
    await fleet.clock.advance(presenceMs);
    const [first, second] = await Promise.all([
      rig.tryRegister(otherAgent),
      rig.tryRegister({ instanceId: 'a-third', host: 'a-third' }),
    ]);
    expect(first.ok).toBe(true);
    expect(refusalOf(second).code).toBe('duplicate_registration');
  });

  test('accepts a second instance after a restart if the first instance has not reconnected yet', async () => {
    const { fleet, rig } = await openWithFirst();
    await fleet.restart({ crash: true });
    await rig.connect(otherAgent);
    expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
  });

  test('rejects the duplicate after a restart once the first instance is back', async () => {
    const { fleet, rig } = await openWithFirst();
    await fleet.restart();
    await rig.beat();
    expect(refusalOf(await rig.tryRegister(otherAgent)).code).toBe('duplicate_registration');
  });
});

test.each<[string, AgentOptions]>([
  ['another start of the same agent', { startId: 'another' }],
  ['another name and address of the same machine', { host: 'another', address: '10.9.9.9' }],
])('accepts %s as the same instance (protocol 2)', async (_case, agent) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await rig.connect(agent);
  expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
});

test('accepts the v1 agent when it registers again immediately', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await rig.connect({});
  expect(rig.view()).toMatchObject({ status: 'idle', duplicate: null });
});

test('accepts workers with different tokens on the same machine', async () => {
  const fleet = await openFleet();
  const agent = { instanceId: 'one-machine', host: 'one-host' };
  const rigs = [await fleet.addIdleWorker({ agent }), await fleet.addIdleWorker({ agent })];
  expect(rigs.map(rig => rig.view().status)).toEqual(['idle', 'idle']);
});
