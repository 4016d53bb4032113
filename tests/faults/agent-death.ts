import assert from 'node:assert/strict';
import { processesOf, signal, untilDead } from '../support/own-processes.ts';
import type { Bench, Rig } from './bench.ts';
import type { Scenario } from './scenario.ts';
import { endsElsewhere, endsUntouched, eventsOf, isToldToStop } from './steps.ts';

/** Starts a job on its own rig and returns the pid of its trainer. */
async function atWork(bench: Bench) {
  await bench.server.start();
  const rig = await bench.rig('rig-1');
  const job = await bench.submit();
  const pid = await bench.running(job);
  await bench.events.job(job.id, 'job.running');
  return { rig, job, pid };
}

async function comesBack(bench: Bench, rig: Rig): Promise<void> {
  const from = bench.events.events.length;
  rig.start();
  await bench.events.worker(rig.id, 'worker.connected', from);
}

export const agentDeaths: readonly Scenario[] = [
  {
    id: 'F7',
    title: 'kill -9 of the agent, its trainer lives: the next agent adopts the same pid',
    quick: true,
    async run(bench) {
      const { rig, job, pid } = await atWork(bench);
      await rig.kill();
      await comesBack(bench, rig);
      await endsUntouched(bench, job, pid);
    },
  },
  {
    id: 'F8',
    title: 'kill -9 of the agent, its trainer ends meanwhile: the next agent reports the end from disk',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await atWork(bench);
      await rig.kill();
      job.finish();
      await untilDead(pid);
      await comesBack(bench, rig);
      await endsUntouched(bench, job, pid);
    },
  },
  {
    id: 'F8',
    title: 'kill -9 of the agent and all that it started: the job is tried again at once',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await atWork(bench);
      // Simulates a power cut of everything except the server.
      for (const each of processesOf(bench.folder)) if (each !== bench.server.pid) signal(each, 'SIGKILL');
      await untilDead(pid);
      await comesBack(bench, rig);
      await bench.trainers.waitFor('the second trainer', record => record.runs(job.id)[1]);
      assert.deepEqual(eventsOf(bench, ['worker.offline', 'job.recovering']), [], 'waited for silence');
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
      'the agent stands still beyond takeover: another worker finishes; continued, it is told to stop, and does',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await atWork(bench);
      const other = await bench.rig('rig-2');
      bench.mayOverlap(job);
      rig.signal('SIGSTOP');
      await endsElsewhere(bench, job, other);
      rig.signal('SIGCONT');
      await isToldToStop(bench, rig, job, pid);
    },
  },
];
