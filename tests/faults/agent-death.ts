import assert from 'node:assert/strict';
import { processesOf, signal, untilDead } from '../support/own-processes.ts';
import type { FaultFleet, Rig } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';
import { expectEndOnOtherRig, expectUninterruptedEnd, eventsOf, expectStopOrder } from './steps.ts';

/** Starts a server, a rig and a job. Returns the rig, the job and the pid of its trainer. */
async function startJob(fleet: FaultFleet) {
  await fleet.server.start();
  const rig = await fleet.startRig('rig-1');
  const job = await fleet.submit();
  const pid = await fleet.waitForTrainer(job);
  await fleet.events.job(job.id, 'job.running');
  return { rig, job, pid };
}

async function restartAgent(fleet: FaultFleet, rig: Rig): Promise<void> {
  const from = fleet.events.events.length;
  rig.start();
  await fleet.events.worker(rig.id, 'worker.connected', from);
}

export const agentDeaths: readonly Scenario[] = [
  {
    id: 'F7',
    title: 'adopts the running trainer with the same pid after kill -9 of the agent',
    quick: true,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet);
      await rig.kill();
      await restartAgent(fleet, rig);
      await expectUninterruptedEnd(fleet, job, pid);
    },
  },
  {
    id: 'F8',
    title: 'reports after a restart of the agent that the trainer completed while the agent was dead',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet);
      await rig.kill();
      job.finish();
      await untilDead(pid);
      await restartAgent(fleet, rig);
      await expectUninterruptedEnd(fleet, job, pid);
    },
  },
  {
    id: 'F8',
    title: 'retries the job immediately when the agent returns after agent and trainer were killed together',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet);
      // Kill every process except the server, as a power cut of the rig does.
      for (const process of processesOf(fleet.folder))
        if (process !== fleet.server.pid) signal(process, 'SIGKILL');
      await untilDead(pid);
      await restartAgent(fleet, rig);
      await fleet.trainers.waitFor('the second trainer', record => record.runs(job.id)[1]);
      assert.deepEqual(
        eventsOf(fleet, ['worker.offline', 'job.recovering']),
        [],
        'the worker went offline before the retry',
      );
      job.finish();
      await fleet.events.job(job.id, 'job.completed');
      const { attempts } = await fleet.admin.job(job.id);
      assert.partialDeepStrictEqual(attempts, [
        { outcome: 'requeued', cause: 'worker_lost' },
        { outcome: 'completed' },
      ]);
    },
  },
  {
    id: 'F9',
    title:
      'completes the job on another worker when an agent is frozen until after the takeover, and stops the old trainer later',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet);
      const idleRig = await fleet.startRig('rig-2');
      fleet.allowOverlap(job);
      rig.signal('SIGSTOP');
      await expectEndOnOtherRig(fleet, job, idleRig);
      rig.signal('SIGCONT');
      await expectStopOrder(fleet, rig, job, pid);
    },
  },
];
