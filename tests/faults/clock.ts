import assert from 'node:assert/strict';
import type { Scenario } from './scenario.ts';
import { orderedFailpoint } from './orders.ts';
import { waitForHeartbeats, expectUninterruptedEnd } from './steps.ts';

const hour = 3_600_000;
/** Jump forwards first, because after a jump backwards deadlines may not be reached within the test. */
const jumps = [hour, -hour, 10 * 365.25 * 24 * hour];

export const clocks: readonly Scenario[] = [
  {
    id: 'F20',
    title: 'changes no status when the clocks of orchestrator and agents jump by +1 h, -1 h and +10 years',
    quick: false,
    async run(bench) {
      const clock = orderedFailpoint(bench, new URL('../support/failpoint-clock.ts', import.meta.url));
      await bench.server.start({ failpoint: clock.failpoint });
      const busy = await bench.rig('rig-1', { failpoint: clock.failpoint });
      const idle = await bench.rig('rig-2', { failpoint: clock.failpoint });
      // The job's timeout is longer than the test, but shorter than two of the jumps.
      const job = await bench.submit({}, { on: busy, timeout_s: 600 });
      const pid = await bench.untilTrainerRuns(job);
      await bench.events.job(job.id, 'job.running');
      // A pending job, so that code for waiting times runs too.
      const waiting = await bench.submit({}, { worker_labels: { rig: 'no-such-rig' } });
      await bench.events.job(waiting.id, 'job.submitted');
      const from = bench.events.events.length;
      for (const jump of jumps) {
        await Promise.all(
          [bench.server, busy.agent, idle.agent].map(program => clock.give(String(jump), program)),
        );
        // Wait for longer than T, so that each deadline has been checked.
        await Promise.all([waitForHeartbeats(busy, 6), waitForHeartbeats(idle, 6)]);
      }
      const changes = bench.events.events.slice(from).filter(({ type }) => type !== 'job.progress');
      assert.deepEqual(changes, []);
      await expectUninterruptedEnd(bench, job, pid);
      await bench.admin.must('POST', `/api/queue/${waiting.id}/cancel`);
    },
  },
];
