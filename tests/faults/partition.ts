import assert from 'node:assert/strict';
import { untilDead } from '../support/own-processes.ts';
import type { EventLine } from '../support/stream-record.ts';
import type { FaultFleet } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';
import {
  waitForHeartbeats,
  expectOneAttempt,
  expectEndOnOtherRig,
  expectUninterruptedEnd,
  eventsOf,
  expectStopOrder,
  reportsOf,
} from './steps.ts';

/** Starts two rigs. `rig` runs the job, `idleRig` runs none. */
async function startTwoRigs(fleet: FaultFleet) {
  await fleet.server.start();
  const rig = await fleet.startRig('rig-1');
  const job = await fleet.submit();
  const pid = await fleet.waitForTrainer(job);
  await fleet.events.job(job.id, 'job.running');
  const idleRig = await fleet.startRig('rig-2');
  return { rig, idleRig, job, pid };
}

export const partitions: readonly Scenario[] = [
  {
    id: 'F10',
    title: 'continues the job after a partition that delays all data and ends before the takeover',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startTwoRigs(fleet);
      rig.proxy.stall();
      const recovering = await fleet.events.job(job.id, 'job.recovering');
      await rig.proxy.heal();
      await fleet.events.job(job.id, 'job.running', recovering);
      await expectUninterruptedEnd(fleet, job, pid);
      assert.deepEqual(eventsOf(fleet, ['job.requeued']), []);
    },
  },
  {
    id: 'F10',
    title: 'continues the job after a short partition that breaks every connection',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startTwoRigs(fleet);
      rig.proxy.refuse();
      rig.proxy.cut();
      await fleet.events.worker(rig.id, 'worker.stream_closed');
      const from = fleet.events.events.length;
      await rig.proxy.heal();
      await fleet.events.worker(rig.id, 'worker.connected', from);
      await expectUninterruptedEnd(fleet, job, pid);
      assert.deepEqual(eventsOf(fleet, ['job.requeued']), []);
    },
  },
  {
    id: 'F10',
    title: 'stops the superseded trainer after a partition that delays all data until after the takeover',
    quick: false,
    async run(fleet) {
      const { rig, idleRig, job, pid } = await startTwoRigs(fleet);
      fleet.allowOverlap(job);
      rig.proxy.stall();
      await expectEndOnOtherRig(fleet, job, idleRig);
      await rig.proxy.heal();
      await expectStopOrder(fleet, rig, job, pid);
    },
  },
  {
    id: 'F10',
    title: 'stops the superseded trainer after a partition that loses all data until after the takeover',
    quick: false,
    async run(fleet) {
      const { rig, idleRig, job, pid } = await startTwoRigs(fleet);
      fleet.allowOverlap(job);
      rig.proxy.blackhole();
      await expectEndOnOtherRig(fleet, job, idleRig);
      await rig.proxy.heal();
      await expectStopOrder(fleet, rig, job, pid);
    },
  },
  ...['blackhole' as const, 'SIGSTOP' as const].map(
    (fault): Scenario => ({
      id: 'F10',
      title: `ends a trainer with on_lost_contact: stop before the next attempt starts, when ${
        fault === 'blackhole' ? 'the network loses all data' : 'the agent is frozen'
      } until after the takeover`,
      quick: false,
      async run(fleet) {
        await fleet.server.start();
        const rig = await fleet.startRig('rig-1');
        const job = await fleet.submit({ ignore_sigterm: true }, { on_lost_contact: 'stop' });
        const pid = await fleet.waitForTrainer(job);
        await fleet.events.job(job.id, 'job.running');
        const idleRig = await fleet.startRig('rig-2');
        if (fault === 'blackhole') rig.proxy.blackhole();
        else rig.signal('SIGSTOP');
        // Invariant I12 (docs/internals/faults.md) checks that the two trainers do not overlap.
        await expectEndOnOtherRig(fleet, job, idleRig);
        await untilDead(pid);
        const from = fleet.events.events.length;
        if (fault === 'blackhole') await rig.proxy.heal();
        else rig.signal('SIGCONT');
        await waitForHeartbeats(rig, 2);
        // Data that was queued during the fault may break the stream once more.
        const isIdle = (event: EventLine): boolean =>
          event.worker_id === rig.id && event.worker?.status === 'idle';
        await fleet.events.event('the rig is idle again', isIdle, from);
      },
    }),
  ),
  {
    id: 'F11',
    title:
      'accepts the completion of a job whose trainer ended during a partition that ends before the takeover',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startTwoRigs(fleet);
      rig.proxy.stall();
      job.finish();
      await untilDead(pid);
      await rig.proxy.waitFor('the final report', () => reportsOf(rig, job, 'completed')[0]);
      await fleet.events.job(job.id, 'job.recovering');
      await rig.proxy.heal();
      await fleet.events.job(job.id, 'job.completed');
      await expectOneAttempt(fleet, job, pid);
    },
  },
];
