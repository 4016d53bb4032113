import { describe, expect, test } from 'vitest';
import type { NotificationEvent } from '../../../../../protocol/notification.ts';
import { ChannelTarget, NewRule } from '../../../../../protocol/notification.ts';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import { ada, bob } from '../../../../support/fleet.ts';

const minuteMs = 60_000;

async function openNotified(events: readonly NotificationEvent[], more: object = {}) {
  const fleet = await openFleet();
  const target = ChannelTarget.parse({ kind: 'discord', url: 'https://discord.com/x' });
  const { notifications } = fleet.orchestrator;
  const { channel_id } = valueOf(await notifications.createChannel({ name: 'team', target }, ada));
  const rule = NewRule.parse({ channel_id, events, ...more });
  valueOf(await notifications.createRule(rule, ada));
  const deliveries = () => fleet.orchestrator.notifications.listDeliveries(null, 100);
  return { fleet, rule, deliveries, titles: () => deliveries().map(({ title }) => title) };
}

describe('notifications', () => {
  test('are stored with the event, and kept when the orchestrator is killed', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed']);
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    expect(deliveries()).toEqual([]);
    await rig.report(job, 'completed');
    await fleet.restart({ crash: true });
    expect(deliveries()).toMatchObject([{ event: 'job_completed', job_id: job, state: 'pending' }]);
  });

  test('go once to a channel that two rules name', async () => {
    const { fleet, rule, deliveries } = await openNotified(['job_completed']);
    valueOf(await fleet.orchestrator.notifications.createRule(rule, ada));
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    expect(deliveries()).toHaveLength(1);
  });

  test('are limited to the jobs of the user of the rule', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed'], { user: 'bob' });
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    const { jobId } = await fleet.submit({}, bob);
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    expect(deliveries().map(({ job_id: id }) => id)).toEqual([jobId]);
  });

  test('are limited to the jobs with the tag of the rule', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed'], { tag: 'faces' });
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    const { jobId } = await fleet.submit({ tags: ['faces'] });
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    expect(deliveries().map(({ job_id: id }) => id)).toEqual([jobId]);
  });

  test('are not stored for a disabled channel, and stored again once it is enabled', async () => {
    const { fleet, rule, deliveries } = await openNotified(['job_completed']);
    const { notifications } = fleet.orchestrator;
    const rig = await fleet.addIdleWorker();
    valueOf(await notifications.updateChannel(rule.channel_id, { enabled: false }, ada));
    await rig.report(await fleet.runJob(rig), 'completed');
    expect(deliveries()).toEqual([]);
    valueOf(await notifications.updateChannel(rule.channel_id, { enabled: true }, ada));
    await rig.report(await fleet.runJob(rig), 'completed');
    expect(deliveries()).toHaveLength(1);
  });

  test('name a silent worker and its job, but not a worker that said goodbye', async () => {
    const { fleet, titles } = await openNotified(['worker_lost']);
    const [lost, leaving] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    await fleet.orchestrator.workers.disconnect(leaving.id);
    await fleet.clock.advance(10 * minuteMs);
    expect(lost.view().status).toBe('offline');
    expect(titles()).toEqual([`Worker ${lost.view().name} is offline`]);
  });

  test('report a job without a new step once for each step', async () => {
    const { fleet, titles } = await openNotified(['no_progress'], { stalled_minutes: 10 });
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const work = async (minutes: number): Promise<void> => {
      for (let minute = 0; minute < minutes; minute += 1) {
        await rig.beat(job);
        await fleet.clock.advance(minuteMs);
      }
    };
    await work(9);
    expect(titles()).toEqual([]);
    await work(8);
    expect(titles()).toEqual(['inline makes no progress']);
    await rig.report(job, 'running', { progress: { step: 1 } });
    await work(9);
    expect(titles()).toHaveLength(1);
    await work(3);
    expect(titles()).toHaveLength(2);
  });

  test('report a loss of NaN once for each attempt', async () => {
    const { fleet, titles } = await openNotified(['loss_nan']);
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const attempt = fleet.store.job(job)?.attempt?.id;
    if (attempt === undefined) throw new Error('no attempt');
    for (const n of [0, 1, 2]) {
      const points = [{ n, elapsed_ms: n, values: { loss: n === 0 ? 1 : null } }];
      valueOf(await fleet.orchestrator.files.reportMetrics(rig.id, job, attempt, points));
    }
    expect(titles()).toEqual(['inline: the loss is not a number']);
  });

  test('are tried less and less often while nothing accepts them', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed']);
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    await fleet.clock.advance(10 * minuteMs);
    const early = deliveries()[0]?.tries ?? 0;
    expect(early).toBeGreaterThan(5);
    expect(early).toBeLessThan(12);
    expect(deliveries()).toMatchObject([{ state: 'pending', result: 'Nothing sends notifications here' }]);
  });

  test('are removed with their channel', async () => {
    const { fleet, rule, deliveries } = await openNotified(['job_completed']);
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    valueOf(await fleet.orchestrator.notifications.removeChannel(rule.channel_id, ada));
    expect(deliveries()).toEqual([]);
    await fleet.clock.advance(minuteMs);
  });
});
