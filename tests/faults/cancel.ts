import assert from 'node:assert/strict';
import { reports } from '../support/chaos-proxy.ts';
import { untilDead } from '../support/own-processes.ts';
import type { FaultFleet, FleetJob } from './fault-fleet.ts';
import { heartbeatTimeoutS } from './server-process.ts';
import type { Scenario } from './scenario.ts';
import { reportsOf } from './steps.ts';

const graceMs = (heartbeatTimeoutS * 1_000) / 4;
/** Additional time in ms for the network, for the check that the process group has ended, and for a busy machine. */
const marginMs = 2_000;

const cancel = ({ admin }: FaultFleet, job: FleetJob) => admin.call('POST', `/api/queue/${job.id}/cancel`);

async function expectCancelled(fleet: FaultFleet, job: FleetJob): Promise<void> {
  await fleet.events.job(job.id, 'job.cancelled');
  // A repeated cancel gets the same response.
  assert.partialDeepStrictEqual(await cancel(fleet, job), { status: 200, body: { status: 'cancelled' } });
}

export const cancels: readonly Scenario[] = [
  {
    id: 'F16',
    title: 'starts no trainer for a job that is cancelled while pending, or between its offer and its claim',
    quick: false,
    async run(fleet) {
      await fleet.server.start();
      const rig = await fleet.startRig('rig-1');
      const pendingJob = await fleet.submit({}, { worker_labels: { rig: 'no-such-rig' } });
      assert.partialDeepStrictEqual(await cancel(fleet, pendingJob), {
        status: 200,
        body: { status: 'cancelled' },
      });
      await expectCancelled(fleet, pendingJob);

      const allowClaims = rig.proxy.rule({ where: reports('starting'), action: 'reset' });
      const offeredJob = await fleet.submit();
      await rig.proxy.waitFor('a claim', () => reportsOf(rig, offeredJob, 'starting')[0]);
      assert.partialDeepStrictEqual(await cancel(fleet, offeredJob), {
        status: 200,
        body: { status: 'cancelling' },
      });
      allowClaims();
      await expectCancelled(fleet, offeredJob);

      const nextJob = await fleet.submit({ run_ms: 100 });
      await fleet.events.job(nextJob.id, 'job.completed');
      assert.equal(fleet.trainers.runs().length, 1, 'trainers started');
    },
  },
  {
    id: 'F16',
    title:
      'kills the trainer after the grace period when its job, which is still starting, is cancelled twice',
    quick: false,
    async run(fleet) {
      await fleet.server.start();
      const rig = await fleet.startRig('rig-1');
      rig.proxy.rule({ where: reports('running'), action: 'reset' });
      const job = await fleet.submit({ ignore_sigterm: true });
      const pid = await fleet.waitForTrainer(job);
      assert.equal((await fleet.admin.job(job.id)).status, 'starting');
      await cancel(fleet, job);
      assert.partialDeepStrictEqual(await cancel(fleet, job), {
        status: 200,
        body: { status: 'cancelling' },
      });
      await untilDead(pid, graceMs + marginMs);
      await expectCancelled(fleet, job);
    },
  },
  {
    id: 'F16',
    title: 'kills a trainer and all its descendants at the end of the grace period when they ignore SIGTERM',
    quick: true,
    async run(fleet) {
      await fleet.server.start();
      await fleet.startRig('rig-1');
      const job = await fleet.submit({ ignore_sigterm: true, generations: 2 });
      await fleet.waitForTrainer(job);
      await fleet.events.job(job.id, 'job.running');
      const group = await fleet.trainers.waitFor('a child and a grandchild', record => {
        const pids = new Set(record.lines().map(({ pid }) => pid));
        return pids.size === 3 && [...pids];
      });
      const cancelledAt = performance.now();
      await cancel(fleet, job);
      await Promise.all(group.map(pid => untilDead(pid, graceMs + marginMs)));
      const signalled = fleet.trainers.lines().filter(({ kind }) => kind === 'term');
      assert.deepEqual(
        new Set(signalled.map(({ pid }) => pid)),
        new Set(group),
        'processes that received SIGTERM',
      );
      assert.ok(performance.now() - cancelledAt > graceMs * 0.9, 'the grace period was too short');
      await expectCancelled(fleet, job);
    },
  },
  {
    id: 'F16',
    title: 'cancels a job of a silent worker when the worker returns, and refuses to cancel an ended job',
    quick: false,
    async run(fleet) {
      await fleet.server.start();
      const rig = await fleet.startRig('rig-1');
      const job = await fleet.submit();
      const pid = await fleet.waitForTrainer(job);
      rig.proxy.stall();
      await fleet.events.job(job.id, 'job.recovering');
      assert.partialDeepStrictEqual(await cancel(fleet, job), {
        status: 200,
        body: { status: 'cancelling' },
      });
      await rig.proxy.heal();
      await untilDead(pid, graceMs + marginMs);
      await expectCancelled(fleet, job);
      const endedJob = await fleet.submit({ run_ms: 100 });
      await fleet.events.job(endedJob.id, 'job.completed');
      const refusal = { status: 409, body: { code: 'job_final' } };
      assert.partialDeepStrictEqual(await cancel(fleet, endedJob), refusal);
    },
  },
];
