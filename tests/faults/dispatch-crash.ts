import assert from 'node:assert/strict';
import { failpoint, failpointLine } from '../support/failpoint.ts';
import { readStored } from '../support/database-evidence.ts';
import { reports } from '../support/chaos-proxy.ts';
import type { FaultFleet } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';

const commitPreload = new URL('../support/failpoint-commit.ts', import.meta.url);
const offerPreload = new URL('../support/failpoint-offer.ts', import.meta.url);

/** Expects that the failpoint has killed the server. */
async function expectKilledBy({ server }: FaultFleet, name: string): Promise<void> {
  assert.deepEqual(await server.ended(), { code: null, signal: 'SIGKILL' });
  assert.ok(server.lines().includes(failpointLine(name)), `the failpoint "${name}" did not fire`);
}

async function expectCompletedInFirstAttempt(fleet: FaultFleet, id: string): Promise<void> {
  await fleet.events.job(id, 'job.completed');
  const job = await fleet.admin.job(id);
  assert.partialDeepStrictEqual(job, { status: 'completed', attempt: 1 });
  assert.equal(job.attempts.length, 1);
  assert.equal(fleet.trainers.runs(id).length, 1, 'trainers started');
}

export const dispatchCrashes: readonly Scenario[] = [
  {
    id: 'F1',
    title:
      'keeps a job pending when the orchestrator dies before committing the dispatch, and runs the job once after a restart',
    quick: false,
    async run(fleet) {
      const { server, events } = fleet;
      await server.start({ failpoint: failpoint(commitPreload, 'before') });
      const rig = await fleet.createRig('rig-1');
      const job = await fleet.submit({ run_ms: 100 });
      rig.start();
      await expectKilledBy(fleet, 'before the commit');
      const stored = readStored(server.databaseFile);
      assert.equal(stored.jobs.get(job.id), 'pending');
      assert.deepEqual(stored.attempts, []);
      await server.start();
      await expectCompletedInFirstAttempt(fleet, job.id);
      assert.equal(events.events.filter(({ type }) => type === 'job.dispatched').length, 1);
    },
  },
  {
    id: 'F1',
    title: 'stores no partial job when the orchestrator dies before committing a submission',
    quick: false,
    async run(fleet) {
      await fleet.server.start({ failpoint: failpoint(commitPreload, 'before') });
      await fleet.startRig('rig-1');
      await assert.rejects(fleet.submit({ run_ms: 100 }), { message: 'fetch failed' });
      await expectKilledBy(fleet, 'before the commit');
      const stored = readStored(fleet.server.databaseFile);
      assert.deepEqual([stored.jobs.size, stored.attempts.length], [0, 0]);
      await fleet.server.start();
      const job = await fleet.submit({ run_ms: 100 });
      await expectCompletedInFirstAttempt(fleet, job.id);
    },
  },
  {
    id: 'F2',
    title:
      'offers the same attempt again when the orchestrator dies between committing the dispatch and sending the offer',
    quick: true,
    async run(fleet) {
      const { server } = fleet;
      await server.start({ failpoint: failpoint(commitPreload, 'after') });
      const rig = await fleet.createRig('rig-1');
      const job = await fleet.submit({ run_ms: 100 });
      rig.start();
      await expectKilledBy(fleet, 'after the commit');
      const { attempts, jobs } = readStored(server.databaseFile);
      assert.equal(jobs.get(job.id), 'dispatched');
      assert.ok(
        rig.proxy.log.every(({ frames }) => frames.every(({ data }) => typeOf(data) !== 'job_submit')),
      );
      await server.start();
      await expectCompletedInFirstAttempt(fleet, job.id);
      const [attempt] = (await fleet.admin.job(job.id)).attempts;
      assert.equal(attempt?.attempt_id, attempts[0]?.id);
    },
  },
  {
    id: 'F3',
    title:
      'acknowledges an offer with the next registration when the orchestrator dies right after sending the offer',
    quick: false,
    async run(fleet) {
      const { server } = fleet;
      await server.start({ failpoint: failpoint(offerPreload, '') });
      const rig = await fleet.createRig('rig-1');
      // Drop the claim (the report `starting`), so that only a registration can acknowledge the offer.
      const allowClaims = rig.proxy.rule({ where: reports('starting'), action: 'reset' });
      const job = await fleet.submit({ run_ms: 100 });
      rig.start();
      await expectKilledBy(fleet, 'after the offer');
      const { attempts } = readStored(server.databaseFile);
      await server.start();
      const registration = await rig.proxy.waitFor('a registration that names the job', () =>
        rig.proxy.calls('/register').find(({ body, answer }) => answer !== null && namesJob(body, job.id)),
      );
      assert.partialDeepStrictEqual(registration.body, { current_attempt_id: attempts[0]?.id });
      assert.partialDeepStrictEqual(registration.answer, {
        status: 200,
        body: { resume_job: { job_id: job.id } },
      });
      await fleet.events.job(job.id, 'job.starting');
      allowClaims();
      await expectCompletedInFirstAttempt(fleet, job.id);
    },
  },
];

const typeOf = (data: unknown): unknown =>
  typeof data === 'object' && data !== null && 'type' in data ? data.type : null;

const namesJob = (body: unknown, job: string): boolean =>
  typeof body === 'object' && body !== null && 'current_job_id' in body && body.current_job_id === job;
