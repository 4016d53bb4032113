import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { timeoutS } from './bench-server.ts';
import type { Scenario } from './scenario.ts';
import {
  waitForHeartbeats,
  expectUninterruptedEnd,
  eventsOf,
  fieldOf,
  expectTrainersContinue,
} from './steps.ts';

const timeoutMs = timeoutS * 1_000;
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `rig-${n + 1}`);

/** Kills the server while five jobs train, and starts it again after `downMs`. */
async function expectAllResumed(bench: Bench, downMs: number): Promise<void> {
  const { server, events } = bench;
  await server.start();
  const rigs = await Promise.all(names(5).map(name => bench.rig(name)));
  const jobs = await Promise.all(rigs.map(on => bench.submit({}, { on })));
  const pids = await Promise.all(jobs.map(bench.untilTrainerRuns));
  await Promise.all(jobs.map(job => events.job(job.id, 'job.running')));
  await server.killAndWait();
  const killedAt = events.events.length;
  await expectTrainersContinue(bench, downMs);
  await server.start();
  await Promise.all(rigs.map(rig => events.worker(rig.id, 'worker.connected', killedAt)));
  for (const [n, rig] of rigs.entries()) {
    const back = rig.proxy.calls('/register').findLast(({ answer }) => answer?.status === 200);
    assert.equal(fieldOf(fieldOf(back?.answer?.body, 'resume_job'), 'job_id'), jobs[n]?.id, 'resume_job');
  }
  await Promise.all(jobs.map((job, n) => expectUninterruptedEnd(bench, job, pids[n] ?? 0)));
  assert.deepEqual(eventsOf(bench, ['job.requeued', 'job.failed']), []);
}

const kills = 20;
const killEveryMs = 3_000;
const jobCount = 100;
const rigCount = 10;

export const restarts: readonly Scenario[] = [
  {
    id: 'F4',
    title: `completes ${jobCount} jobs on ${rigCount} workers once each while the orchestrator is killed ${kills} times`,
    quick: false,
    limitMs: 240_000,
    async run(bench) {
      const { server, events, trainers, admin } = bench;
      await server.start();
      await Promise.all(names(rigCount).map(name => bench.rig(name)));
      // The last jobs end after the last kill.
      const runMs = (kills * killEveryMs * rigCount) / jobCount;
      await Promise.all(
        Array.from({ length: jobCount }, (_, n) => bench.submit({ run_ms: runMs * (0.5 + (n % 10) / 10) })),
      );
      for (let n = 0; n < kills; n += 1) {
        // Kills at fixed intervals are the fault under test, so a fixed pause is right here.
        await pause(killEveryMs);
        await server.killAndWait();
        await server.start();
      }
      for (const id of bench.notes.accepted) {
        await events.event(
          `the end of ${id}`,
          it => it.job_id === id && it.type === 'job.completed',
          0,
          120_000,
        );
        const job = await admin.job(id);
        const ends = events.events.filter(it => it.job_id === id && it.type === 'job.completed');
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
    run: bench => expectAllResumed(bench, 0),
  },
  {
    id: 'F5',
    title: 'continues 5 trainings with the same pids when the killed orchestrator restarts after 10 s',
    quick: false,
    run: bench => expectAllResumed(bench, 10_000),
  },
  {
    id: 'F6',
    title: 'marks no worker offline when the orchestrator was frozen for longer than T',
    quick: false,
    async run(bench) {
      const { server, events } = bench;
      await server.start();
      const [busy, idle] = await Promise.all([bench.rig('rig-1'), bench.rig('rig-2')]);
      const job = await bench.submit({}, { on: busy });
      const pid = await bench.untilTrainerRuns(job);
      await events.job(job.id, 'job.running');
      // Hold back the calls, so that the server does not find them waiting right after its pause.
      busy.proxy.stall('up');
      idle.proxy.stall('up');
      server.kill('SIGSTOP');
      await expectTrainersContinue(bench, timeoutMs * 1.25);
      server.kill('SIGCONT');
      await expectTrainersContinue(bench, timeoutMs / 4);
      await Promise.all([busy.proxy.heal(), idle.proxy.heal()]);
      await Promise.all([waitForHeartbeats(busy, 3), waitForHeartbeats(idle, 3)]);
      assert.deepEqual(eventsOf(bench, ['worker.offline', 'job.recovering', 'job.requeued']), []);
      await expectUninterruptedEnd(bench, job, pid);
    },
  },
];
