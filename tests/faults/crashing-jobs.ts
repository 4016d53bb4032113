import assert from 'node:assert/strict';
import { failpoint } from '../support/failpoint.ts';
import { z } from 'zod';
import type { FaultFleet } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';
import { eventsOf } from './steps.ts';

/** All programs run this many times faster, because the scenario includes waits of up to ten minutes. */
const speedup = 20;
const accelerated = failpoint(new URL('../support/failpoint-haste.ts', import.meta.url), String(speedup));
/** Heartbeat timeout in accelerated seconds, which is 8 s of real time. */
const acceleratedTimeoutS = 160;

const Quarantined = z.looseObject({ quarantine: z.looseObject({}).nullable() });
const isQuarantined = async ({ admin }: FaultFleet, id: string): Promise<boolean> =>
  Quarantined.parse(await admin.worker(id)).quarantine !== null;

export const crashingJobs: readonly Scenario[] = [
  {
    id: 'F26',
    title: 'fails a job whose trainer crashes in every attempt, and quarantines no worker',
    quick: false,
    async run(fleet) {
      await fleet.server.start({
        failpoint: accelerated,
        args: ['--heartbeat-timeout', String(acceleratedTimeoutS)],
      });
      const rigs = await Promise.all(
        ['rig-1', 'rig-2'].map(name => fleet.startRig(name, { failpoint: accelerated })),
      );
      const job = await fleet.submit({ die_at_start: 'SIGKILL' }, { retry_on: ['trainer_signal'] });
      await fleet.events.job(job.id, 'job.failed');
      const { attempts, cause } = await fleet.admin.job(job.id);
      assert.equal(cause, 'trainer_signal');
      assert.equal(attempts.length, 4, 'the first attempt, and three retries');
      assert.equal(fleet.trainers.runs(job.id).length, 4, 'trainers started');
      for (const { id } of rigs) assert.equal(await isQuarantined(fleet, id), false);
      const nextJobs = await Promise.all(rigs.map(on => fleet.submit({ run_ms: 50 }, { on })));
      for (const { id } of nextJobs) await fleet.events.job(id, 'job.completed');
    },
  },
  {
    id: 'F26',
    title:
      'quarantines a worker after three jobs crashed at start, and ends the quarantine after a successful trial job',
    quick: false,
    limitMs: 120_000,
    async run(fleet) {
      const { events } = fleet;
      await fleet.server.start({
        failpoint: accelerated,
        args: ['--heartbeat-timeout', String(acceleratedTimeoutS)],
      });
      const rig = await fleet.startRig('rig-1', { failpoint: accelerated });
      for (let count = 0; count < 3; count += 1) {
        const job = await fleet.submit({ die_at_start: 'SIGSEGV' }, { on: rig });
        await events.job(job.id, 'job.failed');
      }
      await events.worker(rig.id, 'worker.quarantined');
      assert.equal(await isQuarantined(fleet, rig.id), true);
      const jobs = [
        await fleet.submit({ run_ms: 50 }, { on: rig }),
        await fleet.submit({ run_ms: 50 }, { on: rig }),
      ];
      const [trial] = jobs;
      await events.job(trial?.id ?? '', 'job.completed', 0, 90_000);
      await events.worker(rig.id, 'worker.unquarantined');
      for (const { id } of jobs) await events.job(id, 'job.completed');
      assert.equal(eventsOf(fleet, ['worker.quarantined']).length, 1);
    },
  },
];
