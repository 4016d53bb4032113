import { describe, expect, test } from 'vitest';
import type { NotificationEvent } from '../../../../../protocol/notification.ts';
import { ChannelTarget, NewRule } from '../../../../../protocol/notification.ts';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import { ada, bob } from '../../../../support/fleet.ts';

const minuteMs = 60_000;

// Opens a fleet with one channel and one rule that sends `events` to this channel.
async function openNotified(events: readonly NotificationEvent[], ruleOptions: object = {}) {
  const fleet = await openFleet();
  const target = ChannelTarget.parse({ kind: 'discord', url: 'https://discord.com/x' });
  const { notifications } = fleet.orchestrator;
  const { channel_id } = valueOf(await notifications.createChannel({ name: 'team', target }, ada));
  const rule = NewRule.parse({ channel_id, events, ...ruleOptions });
  valueOf(await notifications.createRule(rule, ada));
  const deliveries = () => fleet.orchestrator.notifications.listDeliveries(null, 100);
  return { fleet, rule, deliveries, titles: () => deliveries().map(({ title }) => title) };
}

describe('notifications', () => {
  test('stores a notification together with its event, so that a crash does not lose the notification', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed']);
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    expect(deliveries()).toEqual([]);
    await rig.report(job, 'completed');
    await fleet.restart({ crash: true });
    expect(deliveries()).toMatchObject([{ event: 'job_completed', job_id: job, state: 'pending' }]);
  });

  test('sends one notification to a channel that two rules name', async () => {
    const { fleet, rule, deliveries } = await openNotified(['job_completed']);
    valueOf(await fleet.orchestrator.notifications.createRule(rule, ada));
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    expect(deliveries()).toHaveLength(1);
  });

  test('notifies only about the jobs of the user that the rule names', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed'], { user: 'bob' });
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    const { jobId } = await fleet.submit({}, bob);
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    expect(deliveries().map(({ job_id: id }) => id)).toEqual([jobId]);
  });

  test('notifies only about the jobs with the tag that the rule names', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed'], { tag: 'faces' });
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    const { jobId } = await fleet.submit({ tags: ['faces'] });
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    expect(deliveries().map(({ job_id: id }) => id)).toEqual([jobId]);
  });

  test('stores no notification for a disabled channel, and stores notifications again once the channel is enabled', async () => {
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

  test('notifies about a silent worker, but not about a disconnected worker', async () => {
    const { fleet, titles } = await openNotified(['worker_lost']);
    const [silentRig, disconnectedRig] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    await fleet.orchestrator.workers.disconnect(disconnectedRig.id);
    await fleet.clock.advance(10 * minuteMs);
    expect(silentRig.view().status).toBe('offline');
    expect(titles()).toEqual([`Worker ${silentRig.view().name} is offline`]);
  });

  test('notifies once about a job that stays at the same step, and again when the job stays at a later step', async () => {
    const { fleet, titles } = await openNotified(['no_progress'], { stalled_minutes: 10 });
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const advanceInContact = async (minutes: number): Promise<void> => {
      for (let minute = 0; minute < minutes; minute += 1) {
        await rig.beat(job);
        await fleet.clock.advance(minuteMs);
      }
    };
    await advanceInContact(9);
    expect(titles()).toEqual([]);
    await advanceInContact(8);
    expect(titles()).toEqual(['inline makes no progress']);
    await rig.report(job, 'running', { progress: { step: 1 } });
    await advanceInContact(9);
    expect(titles()).toHaveLength(1);
    await advanceInContact(3);
    expect(titles()).toHaveLength(2);
  });

  test('notifies once for each attempt whose loss is not a number', async () => {
    const { fleet, titles } = await openNotified(['loss_nan']);
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const attempt = fleet.store.job(job)?.attempt?.id;
    if (attempt === undefined) throw new Error('the job has no attempt');
    // A loss that is not a number arrives as null.
    for (const [n, loss] of [1, null, null].entries()) {
      const points = [{ n, elapsed_ms: n, values: { loss } }];
      valueOf(await fleet.orchestrator.files.reportMetrics(rig.id, job, attempt, points));
    }
    expect(titles()).toEqual(['inline: the loss is not a number']);
  });

  test('retries a delivery with growing delays while no sender accepts the delivery', async () => {
    const { fleet, deliveries } = await openNotified(['job_completed']);
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    await fleet.clock.advance(10 * minuteMs);
    const tries = deliveries()[0]?.tries ?? 0;
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(12);
    expect(deliveries()).toMatchObject([{ state: 'pending', result: 'Nothing sends notifications here' }]);
  });

  test('removes the notifications of a channel together with the channel', async () => {
    const { fleet, rule, deliveries } = await openNotified(['job_completed']);
    const rig = await fleet.addIdleWorker();
    await rig.report(await fleet.runJob(rig), 'completed');
    valueOf(await fleet.orchestrator.notifications.removeChannel(rule.channel_id, ada));
    expect(deliveries()).toEqual([]);
    // A later attempt to send must not log an error.
    await fleet.clock.advance(minuteMs);
  });
});
