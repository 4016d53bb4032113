import { expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { auditFilter } from '../../../../support/seal.ts';

test('writes one audit row with its actor for each event except progress', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'running', { progress: { step: 5 } });
  await fleet.cancel(job);
  await rig.report(job, 'cancelled');
  await rig.disconnect();
  const { rows } = fleet.store.audit.list(auditFilter({ limit: 500 }));
  const eventTypes = fleet.events.flatMap(event => ('type' in event ? [event.type] : []));
  expect(rows.map(({ type }) => type).toReversed()).toEqual(
    eventTypes.filter(type => type !== 'job.progress'),
  );
  const actors = Object.fromEntries(rows.map(row => [row.type, row.actor_id ?? row.actor_type]));
  expect(actors).toMatchObject({
    'worker.created': 'ada',
    'worker.registered': rig.id,
    'job.submitted': 'ada',
    'job.dispatched': 'system',
    'job.running': rig.id,
    'job.cancelling': 'ada',
    'job.cancelled': rig.id,
    'worker.offline': rig.id,
  });
  expect(JSON.stringify(rows)).not.toContain(rig.token);
});
