import assert from 'node:assert/strict';
import type { Scenario } from './scenario.ts';
import { createControlledFailpoint } from './controlled-failpoint.ts';
import { waitForHeartbeats, expectUninterruptedEnd } from './steps.ts';

const hourMs = 3_600_000;
/** The forward jump comes first. After a backward jump, deadlines may not be reached within the test. */
const jumpsMs = [hourMs, -hourMs, 10 * 365.25 * 24 * hourMs];

export const clocks: readonly Scenario[] = [
  {
    id: 'F20',
    title: 'changes no status when the clocks of orchestrator and agents jump by +1 h, -1 h and +10 years',
    quick: false,
    async run(fleet) {
      const clock = createControlledFailpoint(
        fleet,
        new URL('../support/failpoint-clock.ts', import.meta.url),
      );
      await fleet.server.start({ failpoint: clock.failpoint });
      const busy = await fleet.startRig('rig-1', { failpoint: clock.failpoint });
      const idle = await fleet.startRig('rig-2', { failpoint: clock.failpoint });
      // The job's timeout is longer than the test, but shorter than two of the jumps.
      const job = await fleet.submit({}, { on: busy, timeout_s: 600 });
      const pid = await fleet.waitForTrainer(job);
      await fleet.events.job(job.id, 'job.running');
      // A pending job makes the server compute waiting times too.
      const pendingJob = await fleet.submit({}, { worker_labels: { rig: 'no-such-rig' } });
      await fleet.events.job(pendingJob.id, 'job.submitted');
      const from = fleet.events.events.length;
      for (const jumpMs of jumpsMs) {
        await Promise.all(
          [fleet.server, busy.agent, idle.agent].map(program => clock.sendOrder(String(jumpMs), program)),
        );
        // Six heartbeats take longer than the heartbeat timeout, so the server has checked each deadline.
        await Promise.all([waitForHeartbeats(busy, 6), waitForHeartbeats(idle, 6)]);
      }
      const changes = fleet.events.events.slice(from).filter(({ type }) => type !== 'job.progress');
      assert.deepEqual(changes, []);
      await expectUninterruptedEnd(fleet, job, pid);
      await fleet.admin.must('POST', `/api/queue/${pendingJob.id}/cancel`);
    },
  },
];
