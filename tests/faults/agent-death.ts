import assert from 'node:assert/strict';
import { processesOf, signal, untilDead } from '../support/own-processes.ts';
import type { Bench, Rig } from './bench.ts';
import type { Scenario } from './scenario.ts';
import { expectEndOnOtherRig, expectUninterruptedEnd, eventsOf, expectStopOrder } from './steps.ts';

/** Starts a job on a rig. Returns the pid of its trainer. */
async function startJob(bench: Bench) {
  await bench.server.start();
  const rig = await bench.rig('rig-1');
  const job = await bench.submit();
  const pid = await bench.untilTrainerRuns(job);
  await bench.events.job(job.id, 'job.running');
  return { rig, job, pid };
}

async function restartAgent(bench: Bench, rig: Rig): Promise<void> {
  const from = bench.events.events.length;
  rig.start();
  await bench.events.worker(rig.id, 'worker.connected', from);
}

export const agentDeaths: readonly Scenario[] = [
  {
    id: 'F7',
    title: 'adopts the running trainer with the same pid after kill -9 of the agent',
    quick: true,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench);
      await rig.kill();
      await restartAgent(bench, rig);
      await expectUninterruptedEnd(bench, job, pid);
    },
  },
  {
    id: 'F8',
    title: 'reports from disk how the trainer ended while the agent was dead',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench);
      await rig.kill();
      job.finish();
      await untilDead(pid);
      await restartAgent(bench, rig);
      await expectUninterruptedEnd(bench, job, pid);
    },
  },
  {
    id: 'F8',
    title: 'retries the job immediately after agent and trainer were killed together',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench);
      // Kill every process except the server, as a power cut of the rig does.
      for (const each of processesOf(bench.folder)) if (each !== bench.server.pid) signal(each, 'SIGKILL');
      await untilDead(pid);
      await restartAgent(bench, rig);
      await bench.trainers.waitFor('the second trainer', record => record.runs(job.id)[1]);
      assert.deepEqual(
        eventsOf(bench, ['worker.offline', 'job.recovering']),
        [],
        'the worker went offline before the retry',
      );
      job.finish();
      await bench.events.job(job.id, 'job.completed');
      const { attempts } = await bench.admin.job(job.id);
      assert.partialDeepStrictEqual(attempts, [
        { outcome: 'requeued', cause: 'worker_lost' },
        { outcome: 'completed' },
      ]);
    },
  },
  {
    id: 'F9',
    title:
      'completes the job elsewhere when an agent is frozen past the takeover, and stops the old trainer on its return',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench);
      const other = await bench.rig('rig-2');
      bench.allowOverlap(job);
      rig.signal('SIGSTOP');
      await expectEndOnOtherRig(bench, job, other);
      rig.signal('SIGCONT');
      await expectStopOrder(bench, rig, job, pid);
    },
  },
];
