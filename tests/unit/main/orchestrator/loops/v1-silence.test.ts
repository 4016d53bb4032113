// See docs/internals/worker-contract.md, section 3, item 10: published agents are silent while their
// trainer prints nothing. T, the heartbeat timeout, is 120 s.
import { expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';

test('applies a longer silence limit to published agents only, and delays their takeover', async () => {
  const fleet = await openFleet({ v1SilenceMs: 600_000 });
  const publishedRig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const job = await fleet.runJob(publishedRig, { max_retries: 0 });
  const trainyardRig = await fleet.addIdleWorker();
  await fleet.clock.advance(120_000);
  expect(trainyardRig.view().status).toBe('offline');
  await fleet.clock.advance(479_999);
  expect(publishedRig.view().status).toBe('busy');
  await fleet.clock.advance(1);
  expect(publishedRig.view()).toMatchObject({ status: 'offline', status_reason: 'silent' });
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
  'never applies a silence limit below T to published agents: %d ms',
  async v1SilenceMs => {
    const fleet = await openFleet({ v1SilenceMs });
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    await fleet.clock.advance(119_999);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  },
);

test("applies T again when Trainyard's agent replaces a published agent", async () => {
  const fleet = await openFleet({ v1SilenceMs: 600_000 });
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await rig.disconnect();
  await rig.connect({ protocol: 2 });
  await fleet.clock.advance(120_000);
  expect(rig.view().status).toBe('offline');
});

test('keeps the longer silence limit of a published agent across a restart', async () => {
  const fleet = await openFleet({ v1SilenceMs: 600_000 });
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await fleet.restart({ crash: true });
  await rig.openStream();
  await fleet.clock.advance(599_999);
  expect(rig.view().status).toBe('idle');
  await fleet.clock.advance(1);
  expect(rig.view().status).toBe('offline');
});
