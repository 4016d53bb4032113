import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startV1Agent } from '../support/v1-agent.ts';
import { manualTrainer, scriptedTrainer } from '../support/v1-trainer.ts';
import type { FaultFleet, Rig } from './fault-fleet.ts';
import type { Scenario } from './scenario.ts';
import { waitForHeartbeats, expectUninterruptedEnd, eventsOf } from './steps.ts';

/** Maximum time until the orchestrator closes the stream after a rotation. */
const maxCloseMs = 500;

async function startJob(fleet: FaultFleet, tokenFrom: 'file' | 'environment') {
  await fleet.server.start();
  const rig = await fleet.startRig('rig-1', { tokenFrom });
  const job = await fleet.submit();
  const pid = await fleet.waitForTrainer(job);
  await fleet.events.job(job.id, 'job.running');
  return { rig, job, pid };
}

const waitUntilStreamCloses = (rig: Rig): Promise<true> =>
  rig.proxy.waitFor(
    'the end of the stream',
    () => rig.proxy.calls('GET /api/workers/stream').every(({ open }) => !open),
    maxCloseMs,
  );

/** Starts SimpleTuner's published agent (v1) with a running job in this process. The agent connects through the rig's proxy. */
async function startPublishedAgent(fleet: FaultFleet) {
  await fleet.server.start();
  const rig = await fleet.createRig('host-1');
  const trainers = manualTrainer();
  const options = { url: rig.proxy.url, token: rig.token, persistent: true, heartbeatMs: 1_000 };
  const agent = startV1Agent({ ...options, trainer: trainers.trainer });
  fleet.onDisconnect(() => void agent.kill());
  await fleet.events.worker(rig.id, 'worker.connected');
  const job = await fleet.submit();
  const run = await trainers.run();
  run.print('step 1');
  await fleet.events.job(job.id, 'job.running');
  return { rig, options, agent, job, run };
}

export const rotations: readonly Scenario[] = [
  {
    id: 'F18',
    title: 'closes the stream when the token is rotated, and continues the job with the new token file',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet, 'file');
      const from = fleet.events.events.length;
      const token = await fleet.rotate(rig);
      await waitUntilStreamCloses(rig);
      writeFileSync(rig.tokenFile, token);
      await fleet.events.worker(rig.id, 'worker.connected', from);
      await waitForHeartbeats(rig, 1);
      await expectUninterruptedEnd(fleet, job, pid);
      assert.deepEqual(eventsOf(fleet, ['worker.offline', 'job.recovering', 'job.requeued']), []);
    },
  },
  {
    id: 'F18',
    title:
      'makes an agent without a token file exit with code 3 when its token is rotated, and lets the next agent adopt the trainer',
    quick: false,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet, 'environment');
      await fleet.rotate(rig);
      await waitUntilStreamCloses(rig);
      assert.deepEqual(await rig.agent.exited, { code: 3, signal: null });
      const from = fleet.events.events.length;
      rig.start({ tokenFrom: 'environment' });
      await fleet.events.worker(rig.id, 'worker.connected', from);
      await expectUninterruptedEnd(fleet, job, pid);
    },
  },
  {
    id: 'F18',
    title: 'retries the job of a published agent whose token is rotated during the job',
    quick: false,
    async run(fleet) {
      const { rig, options, agent, job, run } = await startPublishedAgent(fleet);
      const token = await fleet.rotate(rig);
      await waitUntilStreamCloses(rig);
      if (run.exitCode() === null) run.print('step 2');
      assert.equal((await agent.events.waitFor('exited')).cause, 'unauthorized');
      assert.deepEqual(run.signals, ['SIGTERM']);
      const nextAgent = startV1Agent({ ...options, token, trainer: scriptedTrainer({ lines: ['step 1'] }) });
      fleet.onDisconnect(() => void nextAgent.kill());
      await fleet.events.job(job.id, 'job.completed');
      const { attempts } = await fleet.admin.job(job.id);
      assert.partialDeepStrictEqual(attempts, [{ outcome: 'requeued' }, { outcome: 'completed' }]);
    },
  },
  {
    id: 'F18',
    title:
      "revokes a published agent's old token only when the agent's job has ended, if the rotation has the mode after_job",
    quick: false,
    async run(fleet) {
      const { rig, agent, job, run } = await startPublishedAgent(fleet);
      // A published agent sends heartbeats only while its trainer prints.
      const printing = setInterval(() => run.exitCode() === null && run.print('step'), 50);
      fleet.onDisconnect(() => clearInterval(printing));
      await fleet.rotate(rig, { mode: 'after_job' });
      const from = agent.events.mark();
      assert.equal((await agent.events.waitFor('heartbeatSent', undefined, from)).answerStatus, 200);
      run.exit(0);
      await fleet.events.job(job.id, 'job.completed');
      assert.equal((await fleet.admin.job(job.id)).attempts.length, 1, 'attempts');
      assert.equal((await agent.events.waitFor('exited')).cause, 'unauthorized');
    },
  },
  {
    id: 'F19',
    title:
      'rejects a second agent with the same token (409 and an event), and does not disturb the first agent',
    quick: true,
    async run(fleet) {
      const { rig, job, pid } = await startJob(fleet, 'file');
      const from = fleet.events.events.length;
      const secondProxy = await fleet.openProxy();
      rig.start({ via: secondProxy, stateHome: mkdtempSync(join(fleet.folder, 'state-other-')) });
      const response = await secondProxy.waitFor(
        'a response to the second agent',
        () => secondProxy.calls('/register')[0]?.answer,
      );
      assert.partialDeepStrictEqual(response, { status: 409, body: { code: 'duplicate_registration' } });
      await fleet.events.worker(rig.id, 'worker.duplicate', from);
      await waitForHeartbeats(rig, 3);
      assert.equal(rig.proxy.calls('GET /api/workers/stream').length, 1, 'streams of the first agent');
      assert.deepEqual(secondProxy.calls('GET /api/workers/stream'), []);
      const disturbances = [
        'worker.registered',
        'worker.connected',
        'worker.stream_closed',
        'worker.offline',
      ];
      assert.deepEqual(eventsOf(fleet, disturbances, from), []);
      await expectUninterruptedEnd(fleet, job, pid);
    },
  },
];
