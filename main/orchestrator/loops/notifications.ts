import type { AttemptId, ChannelId } from '../../../protocol/ids.ts';
import type { NotificationEvent } from '../../../protocol/notification.ts';
import type { Core } from '../core.ts';
import type { LiveJob } from '../model.ts';
import { notify, sendTo } from '../memory/outbox.ts';
import { removeGone } from '../commands/notifications/channels.ts';
import type { Artifact, Channel, Courier, Delivery, DeliveryAnswer, Rule, Tx } from '../ports/index.ts';
import { afterTry } from '../rules/delivery-rules.ts';
import {
  budgetNotification,
  diskNotification,
  matchesRule,
  trackSteps,
  stallNotification,
  type StepSeen,
} from '../rules/notification-rules.ts';
import { startOfDay } from '../views/demand-facts.ts';

/** Limits in ms of the time until the next check of a non-empty outbox. The wall clock may be adjusted during that time. */
const minLookMs = 1_000;
const maxLookMs = 60_000;
/** Interval in ms of the check for conditions that no event reports. */
const inspectMs = 30_000;
/** Number of ended deliveries that are kept. */
const keptDeliveries = 1_000;
const hourMs = 3_600_000;
/** Larger images are not attached: Discord refuses requests above 8 MiB, and many mail servers refuse messages above 10 MB. */
const maxSampleBytes = 4 * 2 ** 20;
/** Number of newest files that are searched for a sample. */
const searchedFiles = 50;

export interface NotificationLoop {
  start(): void;
  /** Delivers due notifications immediately. */
  deliverNow(): void;
  stop(): void;
}

/** Delivers the notifications in the outbox. Checks for stalled jobs, a full disk and used budgets, which no event reports. */
export function createNotificationLoop(core: Core, courier: Courier): NotificationLoop {
  const deliveries = createDeliveries(core, courier);
  const inspections = createInspections(core, courier);
  return {
    start() {
      deliveries.start();
      inspections.start();
    },
    deliverNow: deliveries.deliverNow,
    stop() {
      deliveries.stop();
      inspections.stop();
    },
  };
}

/** Delivers the due notifications in the outbox. */
function createDeliveries(core: Core, courier: Courier): NotificationLoop {
  const busy = new Set<ChannelId>();
  let cancelDelivery = (): void => {};
  let stopped = false;

  /** Sets the alarm for the next due delivery. An empty outbox needs none, because each new delivery calls `deliverNow`. */
  function setAlarm(): void {
    cancelDelivery();
    const dueAt = stopped ? null : core.store.nextDueAt();
    if (dueAt === null) return;
    const inMs = Math.min(maxLookMs, Math.max(minLookMs, dueAt - core.time.now()));
    cancelDelivery = core.clock.after(inMs, deliver);
  }

  /** Reads the store, and tries again later if the read fails. A faulty disk must not end the process. */
  function tryToRead(read: () => void): void {
    try {
      read();
    } catch (cause) {
      core.log.warn('notification.outbox_unreadable', { cause });
      cancelDelivery = core.clock.after(maxLookMs, deliver);
    }
  }

  function deliver(): void {
    if (stopped) return;
    tryToRead(() => {
      setAlarm();
      for (const { id } of core.store.channels()) if (!busy.has(id)) void deliverAll(id);
    });
  }

  /** Delivers the due notifications of one channel, one after another. Other channels do not wait for a slow receiver. */
  async function deliverAll(id: ChannelId): Promise<void> {
    busy.add(id);
    try {
      for (;;) {
        const channel = core.store.channel(id);
        const delivery = core.store.nextDelivery(id, core.time.now());
        if (stopped || channel === null || delivery === null || !core.store.acceptsWrites()) return;
        const answer =
          answerWithoutTry(core, channel) ??
          (await courier.deliver(channel.target, delivery, sampleOf(core, delivery)));
        // After a crash before this write, the receiver gets the same delivery id again.
        await core.store.write(tx => {
          if (answer.kind === 'gone') return removeGone(core, tx, id, answer.detail);
          const next = afterTry(delivery, answer, core.time.now());
          tx.updateDelivery(next);
          if (next.state !== 'pending') tx.trimDeliveries(keptDeliveries);
          return undefined;
        });
        if (answer.kind !== 'delivered')
          core.log.warn('notification.not_delivered', { delivery_id: delivery.id });
      }
    } catch (cause) {
      if (!stopped) core.log.warn('notification.failed', { channel_id: id, cause });
    } finally {
      busy.delete(id);
      tryToRead(setAlarm);
    }
  }

  return {
    start() {
      // Wait until the server listens, because links in notifications need its address.
      cancelDelivery = core.clock.after(minLookMs, deliver);
    },
    deliverNow: deliver,
    stop() {
      stopped = true;
      cancelDelivery();
    },
  };
}

/** Checks regularly for conditions that no event reports. */
function createInspections(core: Core, courier: Courier): Pick<NotificationLoop, 'start' | 'stop'> {
  let steps: ReadonlyMap<AttemptId, StepSeen> = new Map();
  let cancel = (): void => {};

  function inspect(): void {
    cancel = core.clock.after(inspectMs, inspect);
    const rules = core.store.notificationRules().filter(({ enabled }) => enabled);
    const isWanted = (event: NotificationEvent): boolean =>
      rules.some(({ events }) => events.includes(event));
    const live = isWanted('no_progress') ? core.store.liveJobs() : [];
    steps = trackSteps(steps, live, core.time.now());
    if (!core.store.acceptsWrites()) return;
    if (live.length > 0)
      core.enqueue(tx => {
        for (const job of live) noteStall(core, tx, rules, job, steps.get(job.attempt.id));
      });
    if (isWanted('pool_budget')) core.enqueue(tx => noteBudgets(core, tx));
    if (isWanted('disk_low')) void inspectDisk(core, courier);
  }

  return { start: inspect, stop: () => cancel() };
}

/** Returns the result for a channel that is disabled or whose user has no valid token; null to try the delivery. */
function answerWithoutTry({ store, clock }: Core, { enabled, subscriber }: Channel): DeliveryAnswer | null {
  if (!enabled) return { kind: 'permanent', detail: 'the channel is disabled' };
  if (subscriber === null || subscriber.tokenId === null) return null;
  const token = store.apiToken(subscriber.tokenId);
  const isValid = token !== null && (token.expiresAt === null || clock.wall() < token.expiresAt);
  return isValid ? null : { kind: 'gone', detail: 'the token of its user is no longer valid' };
}

/** Returns the newest image of the delivery's job that is small enough to attach; null for none. */
function sampleOf({ store }: Core, { notification: { job } }: Delivery): Artifact | null {
  const files = job === null ? [] : store.artifacts(job.id, null, searchedFiles);
  return files.find(({ kind, bytes }) => kind === 'sample_image' && bytes <= maxSampleBytes) ?? null;
}

/** Notifies the channels of rules about a stalled job. Each rule has its own number of minutes. Each stall is reported once. */
function noteStall(
  core: Core,
  tx: Tx,
  rules: readonly Rule[],
  job: LiveJob,
  lastStep: StepSeen | undefined,
): void {
  const worker = tx.worker(job.attempt.workerId)?.name ?? null;
  for (const rule of rules) {
    const stall = stallNotification(job, lastStep, rule.stalledMinutes, core.time.now(), worker);
    if (stall !== null && matchesRule(rule, stall))
      sendTo(core, tx, rule.channelId, stall, `no_progress:${job.attempt.id}:${lastStep?.step ?? 'none'}`);
  }
}

/** Notifies channels about pools that have used their daily budget, once a day. */
function noteBudgets(core: Core, tx: Tx): void {
  const pools = tx.pools().filter(({ settings }) => settings.gpu_hours_per_day !== null);
  if (pools.length === 0) return;
  const now = core.time.now();
  const today = startOfDay(now);
  const used = tx.gpuMsOfPools(today, now);
  for (const { id, name, settings } of pools) {
    const budget = budgetNotification(name, (used.get(id) ?? 0) / hourMs, settings.gpu_hours_per_day);
    notify(core, tx, budget, `pool_budget:${id}:${today}`);
  }
}

/** Notifies channels about a disk that is almost full, once a day. */
async function inspectDisk(core: Core, courier: Courier): Promise<void> {
  try {
    const { free, reserve } = await courier.disk();
    const today = startOfDay(core.time.now());
    const disk = diskNotification(free, reserve);
    if (disk !== null) core.enqueue(tx => notify(core, tx, disk, `disk_low:${today}`));
  } catch (cause) {
    core.log.warn('notification.disk_unknown', { cause });
  }
}
