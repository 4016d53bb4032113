import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { argvOf, memoryOf, processesOf } from '../support/own-processes.ts';
import type { StubConfig } from '../support/trainer-record.ts';
import type { FaultFleet, Rig } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';
import { eventsOf, expectUninterruptedEnd, waitForHeartbeats } from './steps.ts';

const mib = 1_048_576;
/** Maximum growth of the memory of each process that handles output. It is independent of the size of the output. */
const allowanceMib = 160;
/** Maximum size of a log on the rig: two files of 32 MiB, and the ends of their last lines. */
const maxLogMib = 65;

const guardsOf = ({ folder }: FaultFleet): readonly number[] =>
  processesOf(folder).filter(pid => / guard \//.test(argvOf(pid)));

/** Returns the maximum memory in MiB of the agent and of all guards during `run`. */
async function measureMaxMemory(fleet: FaultFleet, rig: Rig, run: () => Promise<void>): Promise<number> {
  let maxBytes = 0;
  const timer = setInterval(() => {
    for (const pid of [rig.agent.pid, ...guardsOf(fleet)]) maxBytes = Math.max(maxBytes, memoryOf(pid));
  }, 200);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  return maxBytes / mib;
}

/** Returns the size of a job's log in bytes. The job folder keeps the log after the run folder was removed. */
function logBytes(rig: Rig, job: string): number {
  const folder = join(rig.stateHome, 'trainyard', rig.name, 'jobs', job);
  return readdirSync(folder)
    .filter(name => /\.log(\.1)?$/.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

const logStorm = (output: string, print: NonNullable<StubConfig['print']>): Scenario => ({
  id: 'F27',
  title: `bounds the memory of agent and guard, keeps heartbeats, and completes the job when the trainer prints ${output}`,
  quick: false,
  async run(fleet) {
    await fleet.server.start();
    const rig = await fleet.startRig('rig-1');
    const job = await fleet.submit({ print });
    const pid = await fleet.waitForTrainer(job);
    const baseline = Math.max(memoryOf(rig.agent.pid), ...guardsOf(fleet).map(memoryOf)) / mib;
    const maxMib = await measureMaxMemory(fleet, rig, async () => {
      await fleet.trainers.waitFor('the end of the output', record =>
        record.runs(job.id)[0]?.lines.some(({ kind }) => kind === 'printed'),
      );
      await waitForHeartbeats(rig, 2);
      await expectUninterruptedEnd(fleet, job, pid);
    });
    assert.ok(maxMib < baseline + allowanceMib, `${maxMib} MiB at most, after ${baseline} MiB before`);
    const written = logBytes(rig, job.id);
    assert.ok(written > Math.min(print.bytes, 16 * mib), `only ${written} bytes in the log`);
    assert.ok(written < maxLogMib * mib, `${written} bytes in the log`);
    assert.deepEqual(eventsOf(fleet, ['worker.offline', 'worker.stream_closed', 'job.recovering']), []);
  },
});

const perSecond = 20 * mib;

export const logStorms: readonly Scenario[] = [
  logStorm('100 MB of lines at 20 MB/s', { kind: 'lines', bytes: 100 * mib, bytes_per_s: perSecond }),
  logStorm('one line of 50 MB', { kind: 'one_line', bytes: 50 * mib, bytes_per_s: perSecond }),
  logStorm('40 MB of binary bytes', { kind: 'binary', bytes: 40 * mib, bytes_per_s: perSecond }),
];
