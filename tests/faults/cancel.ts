import assert from 'node:assert/strict';
import { reports } from '../support/chaos-proxy.ts';
import { untilDead } from '../support/own-processes.ts';
import type { Bench, BenchJob } from './bench.ts';
import { timeoutS } from './bench-server.ts';
import type { Scenario } from './scenario.ts';
import { reportsOf } from './steps.ts';

const graceMs = (timeoutS * 1_000) / 4;
/** Additional time in ms for the network, for the check that the process group is gone, and for a busy machine. */
const slackMs = 2_000;

const cancel = ({ admin }: Bench, job: BenchJob) => admin.call('POST', `/api/queue/${job.id}/cancel`);

async function expectCancelled(bench: Bench, job: BenchJob): Promise<void> {
  await bench.events.job(job.id, 'job.cancelled');
  // A repeated cancel gives the same answer, and no report changes a cancelled job.
  assert.partialDeepStrictEqual(await cancel(bench, job), { status: 200, body: { status: 'cancelled' } });
}

export const cancels: readonly Scenario[] = [
  {
    id: 'F16',
    title: 'starts no trainer for a job cancelled while pending or between offer and claim',
    quick: false,
    async run(bench) {
      await bench.server.start();
      const rig = await bench.rig('rig-1');
      const nowhere = await bench.submit({}, { worker_labels: { rig: 'no-such-rig' } });
      assert.partialDeepStrictEqual(await cancel(bench, nowhere), {
        status: 200,
        body: { status: 'cancelled' },
      });
      await expectCancelled(bench, nowhere);

      const letPass = rig.proxy.rule({ where: reports('starting'), fate: 'reset' });
      const offered = await bench.submit();
      await rig.proxy.waitFor('a claim', () => reportsOf(rig, offered, 'starting')[0]);
      assert.partialDeepStrictEqual(await cancel(bench, offered), {
        status: 200,
        body: { status: 'cancelling' },
      });
      letPass();
      await expectCancelled(bench, offered);

      const next = await bench.submit({ run_ms: 100 });
      await bench.events.job(next.id, 'job.completed');
      assert.equal(bench.trainers.runs().length, 1, 'trainers started');
    },
  },
  {
    id: 'F16',
    title: 'kills the trainer within the grace period when its job is cancelled twice while starting',
    quick: false,
    async run(bench) {
      await bench.server.start();
      const rig = await bench.rig('rig-1');
      rig.proxy.rule({ where: reports('running'), fate: 'reset' });
      const job = await bench.submit({ ignore_sigterm: true });
      const pid = await bench.untilTrainerRuns(job);
      assert.equal((await bench.admin.job(job.id)).status, 'starting');
      await cancel(bench, job);
      assert.partialDeepStrictEqual(await cancel(bench, job), {
        status: 200,
        body: { status: 'cancelling' },
      });
      await untilDead(pid, graceMs + slackMs);
      await expectCancelled(bench, job);
    },
  },
  {
    id: 'F16',
    title: 'kills a trainer that ignores SIGTERM and all its descendants within the grace period',
    quick: true,
    async run(bench) {
      await bench.server.start();
      await bench.rig('rig-1');
      const job = await bench.submit({ ignore_sigterm: true, generations: 2 });
      await bench.untilTrainerRuns(job);
      await bench.events.job(job.id, 'job.running');
      const group = await bench.trainers.waitFor('a child and a grandchild', record => {
        const pids = new Set(record.lines().map(({ pid }) => pid));
        return pids.size === 3 && [...pids];
      });
      const before = performance.now();
      await cancel(bench, job);
      await Promise.all(group.map(pid => untilDead(pid, graceMs + slackMs)));
      const told = bench.trainers.lines().filter(({ kind }) => kind === 'term');
      assert.deepEqual(
        new Set(told.map(({ pid }) => pid)),
        new Set(group),
        'processes that received SIGTERM',
      );
      assert.ok(performance.now() - before > graceMs * 0.9, 'the grace period was too short');
      await expectCancelled(bench, job);
    },
  },
  {
    id: 'F16',
    title: 'cancels a job of a silent worker when the worker returns, and refuses to cancel an ended job',
    quick: false,
    async run(bench) {
      await bench.server.start();
      const rig = await bench.rig('rig-1');
      const job = await bench.submit();
      const pid = await bench.untilTrainerRuns(job);
      rig.proxy.stall();
      await bench.events.job(job.id, 'job.recovering');
      assert.partialDeepStrictEqual(await cancel(bench, job), {
        status: 200,
        body: { status: 'cancelling' },
      });
      await rig.proxy.heal();
      await untilDead(pid, graceMs + slackMs);
      await expectCancelled(bench, job);
      const ended = await bench.submit({ run_ms: 100 });
      await bench.events.job(ended.id, 'job.completed');
      assert.partialDeepStrictEqual(await cancel(bench, ended), { status: 409, body: { code: 'job_final' } });
    },
  },
];
