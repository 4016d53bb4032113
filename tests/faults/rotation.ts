import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startV1Agent } from '../support/v1-agent.ts';
import { manualTrainer, scriptedTrainer } from '../support/v1-trainer.ts';
import type { Bench, Rig } from './bench.ts';
import type { Scenario } from './scenario.ts';
import { waitForHeartbeats, expectUninterruptedEnd, eventsOf } from './steps.ts';

/** Time in ms within which the proxy must notice that the orchestrator has closed the stream. */
const atOnceMs = 500;

async function startJob(bench: Bench, tokenFrom: 'file' | 'environment') {
  await bench.server.start();
  const rig = await bench.rig('rig-1', { tokenFrom });
  const job = await bench.submit();
  const pid = await bench.untilTrainerRuns(job);
  await bench.events.job(job.id, 'job.running');
  return { rig, job, pid };
}

const untilStreamCloses = (rig: Rig): Promise<true> =>
  rig.proxy.waitFor(
    'the end of the stream',
    () => rig.proxy.calls('GET /api/workers/stream').every(({ open }) => !open),
    atOnceMs,
  );

/** Starts a published agent in this process, with a running job. It connects through the rig's proxy. */
async function startPublishedAgent(bench: Bench) {
  await bench.server.start();
  const rig = await bench.rigWithoutAgent('host-1');
  const trainers = manualTrainer();
  const options = { url: rig.proxy.url, token: rig.token, persistent: true, heartbeatMs: 1_000 };
  const agent = startV1Agent({ ...options, trainer: trainers.trainer });
  bench.onDisconnect(() => void agent.kill());
  await bench.events.worker(rig.id, 'worker.connected');
  const job = await bench.submit();
  const run = await trainers.run();
  run.print('step 1');
  await bench.events.job(job.id, 'job.running');
  return { rig, options, agent, job, run };
}

export const rotations: readonly Scenario[] = [
  {
    id: 'F18',
    title: 'closes the stream when the token is rotated, and continues the job with the new token file',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench, 'file');
      const from = bench.events.events.length;
      const token = await bench.rotate(rig);
      await untilStreamCloses(rig);
      writeFileSync(rig.tokenFile, token);
      await bench.events.worker(rig.id, 'worker.connected', from);
      await waitForHeartbeats(rig, 1);
      await expectUninterruptedEnd(bench, job, pid);
      assert.deepEqual(eventsOf(bench, ['worker.offline', 'job.recovering', 'job.requeued']), []);
    },
  },
  {
    id: 'F18',
    title:
      'exits with 3 when the token is rotated without a token file, and the next agent adopts the trainer',
    quick: false,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench, 'environment');
      await bench.rotate(rig);
      await untilStreamCloses(rig);
      assert.deepEqual(await rig.agent.exited, { code: 3, signal: null });
      const from = bench.events.events.length;
      rig.start({ tokenFrom: 'environment' });
      await bench.events.worker(rig.id, 'worker.connected', from);
      await expectUninterruptedEnd(bench, job, pid);
    },
  },
  {
    id: 'F18',
    title: 'retries the job of a published agent whose token is rotated during the job',
    quick: false,
    async run(bench) {
      const { rig, options, agent, job, run } = await startPublishedAgent(bench);
      const token = await bench.rotate(rig);
      await untilStreamCloses(rig);
      if (run.exitCode() === null) run.print('step 2');
      assert.equal((await agent.events.waitFor('exited')).cause, 'unauthorized');
      assert.deepEqual(run.signals, ['SIGTERM']);
      const again = startV1Agent({ ...options, token, trainer: scriptedTrainer({ lines: ['step 1'] }) });
      bench.onDisconnect(() => void again.kill());
      await bench.events.job(job.id, 'job.completed');
      const { attempts } = await bench.admin.job(job.id);
      assert.partialDeepStrictEqual(attempts, [{ outcome: 'requeued' }, { outcome: 'completed' }]);
    },
  },
  {
    id: 'F18',
    title: "revokes a published agent's old token only after its job when rotated with mode after_job",
    quick: false,
    async run(bench) {
      const { rig, agent, job, run } = await startPublishedAgent(bench);
      // A published agent sends heartbeats only while its trainer prints.
      const printing = setInterval(() => run.exitCode() === null && run.print('step'), 50);
      bench.onDisconnect(() => clearInterval(printing));
      await bench.rotate(rig, { mode: 'after_job' });
      const from = agent.events.mark();
      assert.equal((await agent.events.waitFor('heartbeatSent', undefined, from)).answerStatus, 200);
      run.exit(0);
      await bench.events.job(job.id, 'job.completed');
      assert.equal((await bench.admin.job(job.id)).attempts.length, 1, 'attempts');
      assert.equal((await agent.events.waitFor('exited')).cause, 'unauthorized');
    },
  },
  {
    id: 'F19',
    title: 'answers a second agent with the same token with 409 and an alert, and leaves the first one alone',
    quick: true,
    async run(bench) {
      const { rig, job, pid } = await startJob(bench, 'file');
      const from = bench.events.events.length;
      const via = await bench.proxy();
      rig.start({ via, stateHome: mkdtempSync(join(bench.folder, 'state-other-')) });
      const refused = await via.waitFor('an answer to the intruder', () => via.calls('/register')[0]?.answer);
      assert.partialDeepStrictEqual(refused, { status: 409, body: { code: 'duplicate_registration' } });
      await bench.events.worker(rig.id, 'worker.duplicate', from);
      await waitForHeartbeats(rig, 3);
      assert.equal(rig.proxy.calls('GET /api/workers/stream').length, 1, 'streams of the incumbent');
      assert.deepEqual(via.calls('GET /api/workers/stream'), []);
      const unwanted = ['worker.registered', 'worker.connected', 'worker.stream_closed', 'worker.offline'];
      assert.deepEqual(eventsOf(bench, unwanted, from), []);
      await expectUninterruptedEnd(bench, job, pid);
    },
  },
];
