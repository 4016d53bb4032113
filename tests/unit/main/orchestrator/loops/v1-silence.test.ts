// See docs/internals/worker-contract.md, section 3, item 10: v1 agents are silent while their
// trainer prints nothing. T, the heartbeat timeout, is 120 s.
import { expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';

test('applies a longer silence limit to v1 agents only, and delays their takeover', async () => {
  const fleet = await openFleet({ v1SilenceMs: 600_000 });
  const v1Rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const job = await fleet.runJob(v1Rig, { max_retries: 0 });
  const v2Rig = await fleet.addIdleWorker();
  await fleet.clock.advance(120_000);
  expect(v2Rig.view().status).toBe('offline');
  await fleet.clock.advance(479_999);
  expect(v1Rig.view().status).toBe('busy');
  await fleet.clock.advance(1);
  expect(v1Rig.view()).toMatchObject({ status: 'offline', status_reason: 'silent' });
  expect(fleet.job(job)).toMatchObject({
    status: 'recovering',
    hold: { until: fleet.clock.iso(fleet.clock.wall() + 40_000) },
  });
  await fleet.clock.advance(39_999);
  expect(fleet.job(job).status).toBe('recovering');
  await fleet.clock.advance(1);
  expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
});

test.each([0, 60_000, 119_999, 120_000])(
  'never applies a silence limit below T to v1 agents: %d ms',
  async v1SilenceMs => {
    const fleet = await openFleet({ v1SilenceMs });
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    await fleet.clock.advance(119_999);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  },
);

test('applies T again when the v2 agent replaces a v1 agent', async () => {
  const fleet = await openFleet({ v1SilenceMs: 600_000 });
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await rig.disconnect();
  await rig.connect({ protocol: 2 });
  await fleet.clock.advance(120_000);
  expect(rig.view().status).toBe('offline');
});

test('keeps the longer silence limit of a v1 agent across a restart', async () => {
  const fleet = await openFleet({ v1SilenceMs: 600_000 });
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await fleet.restart({ crash: true });
  await rig.openStream();
  await fleet.clock.advance(599_999);
  expect(rig.view().status).toBe('idle');
  await fleet.clock.advance(1);
  expect(rig.view().status).toBe('offline');
});
