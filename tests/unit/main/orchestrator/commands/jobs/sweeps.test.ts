import { expect, test } from 'vitest';
import { SweepRequest } from '../../../../../../protocol/sweep.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

const request = SweepRequest.parse({ config: {}, sweep: [{ key: 'lr', values: [1, 2, 3] }] });
const key = { key: 'k', fingerprint: 'f' };
const countSubmissions = (fleet: Fleet): number =>
  fleet.events.filter(event => 'type' in event && event.type === 'job.submitted').length;

test('keeps all jobs of a sweep and its idempotency key after a crash', async () => {
  const fleet = await openFleet();
  const first = valueOf(await fleet.orchestrator.jobs.sweep(request, ada, key));
  await fleet.restart({ crash: true });
  const repeat = valueOf(await fleet.orchestrator.jobs.sweep(request, ada, key));
  expect(repeat).toEqual({ ...first, isRepeat: true });
  expect(first.jobs.map(({ sweep }) => sweep)).toEqual([{ lr: 1 }, { lr: 2 }, { lr: 3 }]);
});

test('submits a sweep once when two requests with the same idempotency key arrive at the same time', async () => {
  const fleet = await openFleet();
  const [first, second] = await Promise.all([
    fleet.orchestrator.jobs.sweep(request, ada, key),
    fleet.orchestrator.jobs.sweep(request, ada, key),
  ]);
  expect(valueOf(second).jobs).toEqual(valueOf(first).jobs);
  expect(countSubmissions(fleet)).toBe(3);
});

test('keeps the idempotency keys of different users separate, and forgets a key after a day', async () => {
  const fleet = await openFleet();
  await fleet.orchestrator.jobs.sweep(request, ada, key);
  expect(valueOf(await fleet.orchestrator.jobs.sweep(request, bob, key)).isRepeat).toBe(false);
  await fleet.clock.advance(24 * 3_600_000 + 1);
  expect(valueOf(await fleet.orchestrator.jobs.sweep(request, ada, key)).isRepeat).toBe(false);
  expect(countSubmissions(fleet)).toBe(9);
});

test('refuses the idempotency key of a sweep when all its jobs were deleted', async () => {
  const fleet = await openFleet();
  const { jobs } = valueOf(await fleet.orchestrator.jobs.sweep(request, ada, key));
  for (const { id } of jobs) {
    if (id === null) throw new Error('the sweep was a dry run');
    await fleet.orchestrator.jobs.cancel(id, ada);
    await fleet.orchestrator.jobs.remove(id, ada);
  }
  expect(refusalOf(await fleet.orchestrator.jobs.sweep(request, ada, key))).toMatchObject({
    code: 'job_not_found',
  });
});
