import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { argvOf, memoryOf, processesOf } from '../support/own-processes.ts';
import type { StubConfig } from '../support/trainer-record.ts';
import type { Bench, Rig } from './bench.ts';
import type { Scenario } from './scenario.ts';
import { expectUninterruptedEnd, waitForHeartbeats } from './steps.ts';

const mib = 1_048_576;
/** Maximum memory in MiB of each process that handles output. The output is much larger. */
const allowanceMib = 160;
/** Maximum size of a log on the rig in MiB: two files of 32 MiB, and the ends of their last lines. */
const logMib = 65;

const guardsOf = ({ folder }: Bench): readonly number[] =>
  processesOf(folder).filter(pid => / guard \//.test(argvOf(pid)));

/** Returns the maximum memory of the agent and of all guards during `run`. */
async function maxMemory(bench: Bench, rig: Rig, run: () => Promise<void>): Promise<number> {
  let most = 0;
  const timer = setInterval(() => {
    for (const pid of [rig.agent.pid, ...guardsOf(bench)]) most = Math.max(most, memoryOf(pid));
  }, 200);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  return most / mib;
}

/** Returns the size of a job's log in bytes. The job folder keeps the log after the run folder was removed. */
function logBytes(rig: Rig, job: string): number {
  const folder = join(rig.stateHome, 'trainyard', rig.name, 'jobs', job);
  return readdirSync(folder)
    .filter(name => /\.log(\.1)?$/.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

const runStorm = (output: string, print: NonNullable<StubConfig['print']>): Scenario => ({
  id: 'F27',
  title: `bounds the memory of agent and guard, keeps heartbeats, and completes the job for ${output}`,
  quick: false,
  async run(bench) {
    await bench.server.start();
    const rig = await bench.rig('rig-1');
    const job = await bench.submit({ print });
    const pid = await bench.untilTrainerRuns(job);
    const baseline = Math.max(memoryOf(rig.agent.pid), ...guardsOf(bench).map(memoryOf)) / mib;
    const most = await maxMemory(bench, rig, async () => {
      await bench.trainers.waitFor('the whole output', record =>
        record.runs(job.id)[0]?.lines.some(({ kind }) => kind === 'printed'),
      );
      await waitForHeartbeats(rig, 2);
      await expectUninterruptedEnd(bench, job, pid);
    });
    assert.ok(most < baseline + allowanceMib, `${most} MiB at most, after ${baseline} MiB before`);
    const written = logBytes(rig, job.id);
    assert.ok(written > Math.min(print.bytes, 16 * mib), `only ${written} bytes in the log`);
    assert.ok(written < logMib * mib, `${written} bytes in the log`);
    const silent = ['worker.offline', 'worker.stream_closed', 'job.recovering'];
    assert.deepEqual(
      bench.events.events.filter(({ type }) => silent.includes(type)),
      [],
    );
  },
});

const perSecond = 20 * mib;

export const logStorms: readonly Scenario[] = [
  runStorm('100 MB of lines at 20 MB/s', { kind: 'lines', bytes: 100 * mib, bytes_per_s: perSecond }),
  runStorm('one line of 50 MB', { kind: 'one_line', bytes: 50 * mib, bytes_per_s: perSecond }),
  runStorm('40 MB of binary bytes', { kind: 'binary', bytes: 40 * mib, bytes_per_s: perSecond }),
];
