import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventLine } from '../support/stream-record.ts';
import type { FaultFleet } from './fault-fleet.ts';
import { heartbeatTimeoutS } from './server-process.ts';
import type { Scenario } from './scenario.ts';
import {
  waitForHeartbeats,
  expectUninterruptedEnd,
  eventsOf,
  fieldOf,
  expectTrainersContinue,
} from './steps.ts';

const heartbeatTimeoutMs = heartbeatTimeoutS * 1_000;
const rigNames = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `rig-${index + 1}`);

/**
 * Kills the server while five jobs train, and restarts it after `downMs`. Expects that all jobs continue in the same trainers.
 */
async function expectAllResumed(fleet: FaultFleet, downMs: number): Promise<void> {
  const { server, events } = fleet;
  await server.start();
  const rigs = await Promise.all(rigNames(5).map(name => fleet.startRig(name)));
  const jobs = await Promise.all(rigs.map(on => fleet.submit({}, { on })));
  const pids = await Promise.all(jobs.map(fleet.waitForTrainer));
  await Promise.all(jobs.map(job => events.job(job.id, 'job.running')));
  await server.killAndWait();
  const killedAt = events.events.length;
  await expectTrainersContinue(fleet, downMs);
  await server.start();
  await Promise.all(rigs.map(rig => events.worker(rig.id, 'worker.connected', killedAt)));
  for (const [index, rig] of rigs.entries()) {
    const registration = rig.proxy.calls('/register').findLast(({ answer }) => answer?.status === 200);
    const resumed = fieldOf(registration?.answer?.body, 'resume_job');
    assert.equal(fieldOf(resumed, 'job_id'), jobs[index]?.id, 'resume_job');
  }
  await Promise.all(jobs.map((job, index) => expectUninterruptedEnd(fleet, job, pids[index] ?? 0)));
  assert.deepEqual(eventsOf(fleet, ['job.requeued', 'job.failed']), []);
}

const killCount = 20;
const killIntervalMs = 3_000;
const jobCount = 100;
const rigCount = 10;

export const restarts: readonly Scenario[] = [
  {
    id: 'F4',
    title: `completes ${jobCount} jobs on ${rigCount} workers once each while the orchestrator is killed ${killCount} times`,
    quick: false,
    limitMs: 240_000,
    async run(fleet) {
      const { server, events, trainers, admin } = fleet;
      await server.start();
      await Promise.all(rigNames(rigCount).map(name => fleet.startRig(name)));
      // All jobs together take as long as all kills, so the last jobs end after the last kill.
      const meanMs = (killCount * killIntervalMs * rigCount) / jobCount;
      const runTimes = Array.from({ length: jobCount }, (_, index) => meanMs * (0.5 + (index % 10) / 10));
      await Promise.all(runTimes.map(runMs => fleet.submit({ run_ms: runMs })));
      for (let count = 0; count < killCount; count += 1) {
        // A fixed pause is right here, because kills at fixed intervals are the fault under test.
        await pause(killIntervalMs);
        await server.killAndWait();
        await server.start();
      }
      for (const id of fleet.records.accepted) {
        const isEnd = (event: EventLine): boolean => event.job_id === id && event.type === 'job.completed';
        await events.event(`the end of ${id}`, isEnd, 0, 120_000);
        const job = await admin.job(id);
        const ends = events.events.filter(isEnd);
        assert.equal(ends.length, 1, `results of ${id}`);
        assert.equal(trainers.runs(id).length, 1, `trainers of ${id}`);
        assert.equal(job.attempts.at(-1)?.outcome, 'completed');
      }
    },
  },
  {
    id: 'F5',
    title:
      'continues 5 trainings with the same pids after kill -9 and an immediate restart of the orchestrator',
    quick: false,
    run: fleet => expectAllResumed(fleet, 0),
  },
  {
    id: 'F5',
    title: 'continues 5 trainings with the same pids when the killed orchestrator restarts after 10 s',
    quick: false,
    run: fleet => expectAllResumed(fleet, 10_000),
  },
  {
    id: 'F6',
    title: 'marks no worker offline when the orchestrator was frozen for longer than the heartbeat timeout',
    quick: false,
    async run(fleet) {
      const { server, events } = fleet;
      await server.start();
      const [busy, idle] = await Promise.all([fleet.startRig('rig-1'), fleet.startRig('rig-2')]);
      const job = await fleet.submit({}, { on: busy });
      const pid = await fleet.waitForTrainer(job);
      await events.job(job.id, 'job.running');
      // Hold the agents' calls back. Otherwise, the server would find waiting heartbeats right after its pause.
      busy.proxy.stall('up');
      idle.proxy.stall('up');
      server.kill('SIGSTOP');
      await expectTrainersContinue(fleet, heartbeatTimeoutMs * 1.25);
      server.kill('SIGCONT');
      await expectTrainersContinue(fleet, heartbeatTimeoutMs / 4);
      await Promise.all([busy.proxy.heal(), idle.proxy.heal()]);
      await Promise.all([waitForHeartbeats(busy, 3), waitForHeartbeats(idle, 3)]);
      assert.deepEqual(eventsOf(fleet, ['worker.offline', 'job.recovering', 'job.requeued']), []);
      await expectUninterruptedEnd(fleet, job, pid);
    },
  },
];
