import assert from 'node:assert/strict';
import { untilDead } from '../support/own-processes.ts';
import type { EventLine } from '../support/stream-record.ts';
import type { Bench } from './bench.ts';
import type { Scenario } from './scenario.ts';
import {
  waitForHeartbeats,
  expectEndedUntouched,
  expectEndOnOtherRig,
  expectUninterruptedEnd,
  eventsOf,
  expectStopOrder,
  reportsOf,
} from './steps.ts';

/** Starts two rigs; one runs a job and the other one is idle. */
async function startTwoRigs(bench: Bench) {
  await bench.server.start();
  const rig = await bench.rig('rig-1');
  const job = await bench.submit();
  const pid = await bench.untilTrainerRuns(job);
  await bench.events.job(job.id, 'job.running');
  const other = await bench.rig('rig-2');
  return { rig, other, job, pid };
}

export const partitions: readonly Scenario[] = [
  {
    id: 'F10',
    title: 'continues the job after a partition that is shorter than the takeover and keeps TCP connections',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startTwoRigs(bench);
      rig.proxy.stall();
      const lost = await bench.events.job(job.id, 'job.recovering');
      await rig.proxy.heal();
      await bench.events.job(job.id, 'job.running', lost);
      await expectUninterruptedEnd(bench, job, pid);
      assert.deepEqual(eventsOf(bench, ['job.requeued']), []);
    },
  },
  {
    id: 'F10',
    title: 'continues the job after a short partition that breaks every connection',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startTwoRigs(bench);
      rig.proxy.refuse();
      rig.proxy.cut();
      await bench.events.worker(rig.id, 'worker.stream_closed');
      const from = bench.events.events.length;
      await rig.proxy.heal();
      await bench.events.worker(rig.id, 'worker.connected', from);
      await expectUninterruptedEnd(bench, job, pid);
      assert.deepEqual(eventsOf(bench, ['job.requeued']), []);
    },
  },
  {
    id: 'F10',
    title: 'stops the superseded trainer after a partition past the takeover that delivers everything late',
    quick: false,
    async run(bench) {
      const { rig, other, job, pid } = await startTwoRigs(bench);
      bench.allowOverlap(job);
      rig.proxy.stall();
      await expectEndOnOtherRig(bench, job, other);
      await rig.proxy.heal();
      await expectStopOrder(bench, rig, job, pid);
    },
  },
  {
    id: 'F10',
    title: 'stops the superseded trainer after a partition past the takeover that loses everything',
    quick: false,
    async run(bench) {
      const { rig, other, job, pid } = await startTwoRigs(bench);
      bench.allowOverlap(job);
      rig.proxy.blackhole();
      await expectEndOnOtherRig(bench, job, other);
      await rig.proxy.heal();
      await expectStopOrder(bench, rig, job, pid);
    },
  },
  ...['blackhole' as const, 'SIGSTOP' as const].map(
    (fault): Scenario => ({
      id: 'F10',
      title: `ends a trainer with on_lost_contact: stop before the next attempt starts, after ${fault} past the takeover`,
      quick: false,
      async run(bench) {
        await bench.server.start();
        const rig = await bench.rig('rig-1');
        const job = await bench.submit({ ignore_sigterm: true }, { on_lost_contact: 'stop' });
        const pid = await bench.untilTrainerRuns(job);
        await bench.events.job(job.id, 'job.running');
        const other = await bench.rig('rig-2');
        if (fault === 'blackhole') rig.proxy.blackhole();
        else rig.signal('SIGSTOP');
        // The invariant I12 checks that the two trainers do not overlap.
        await expectEndOnOtherRig(bench, job, other);
        await untilDead(pid);
        const from = bench.events.events.length;
        if (fault === 'blackhole') await rig.proxy.heal();
        else rig.signal('SIGCONT');
        await waitForHeartbeats(rig, 2);
        // After the partition, queued data may break the stream once more.
        const isIdle = (event: EventLine): boolean =>
          event.worker_id === rig.id && event.worker?.status === 'idle';
        await bench.events.event('the rig is idle again', isIdle, from);
      },
    }),
  ),
  {
    id: 'F11',
    title: 'accepts the completion of a job that ended during a partition, before the takeover',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startTwoRigs(bench);
      rig.proxy.stall();
      job.finish();
      await untilDead(pid);
      await rig.proxy.waitFor('its report', () => reportsOf(rig, job, 'completed')[0]);
      await bench.events.job(job.id, 'job.recovering');
      await rig.proxy.heal();
      await bench.events.job(job.id, 'job.completed');
      await expectEndedUntouched(bench, job, pid);
    },
  },
];
