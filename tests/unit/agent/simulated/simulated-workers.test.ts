/** Tests that a simulated worker takes part in an attempt on several workers like a real worker. */
import { expect, it, onTestFinished } from 'vitest';
import {
  createSimulatedWorker,
  type SimulatedTrainer,
} from '../../../../agent/simulated/simulated-worker.ts';
import { attemptId, jobId, offerOf } from '../builders.ts';
import { startOrchestrator } from '../scripted-orchestrator.ts';

/** A trainer that reports one step and ends. */
const trainer: SimulatedTrainer = (_job, onProgress) => {
  onProgress({ step: 5, total_steps: 5 });
  return { exited: Promise.resolve({ code: 0, signal: null, tail: '' }), stop: () => {} };
};

/** Trains a job of two workers as the worker of this rank. Returns what the orchestrator received. */
async function trainAs(rank: number) {
  const orchestrator = await startOrchestrator();
  const connected = Promise.withResolvers<void>();
  const worker = createSimulatedWorker({
    url: orchestrator.url,
    token: 'wt_1',
    name: 'demo-01',
    persistent: false,
    accelerator: 'cuda',
    gpus: [{ index: 0, name: 'RTX 4090', vramGb: 24 }],
    trainer,
    telemetry: () => ({}),
    random: () => 0,
    onConnection: () => connected.resolve(),
    log: () => {},
  });
  const exit = worker.run();
  onTestFinished(() => worker.leaveNow());
  const { body: introduction } = await orchestrator.nth('register');
  await connected.promise;
  orchestrator.push(offerOf('j1', 'a1', { node: { rank, count: 2 } }));
  const ready = await orchestrator.until(({ body }) => body['ready'] !== undefined);
  orchestrator.push({
    type: 'job_rendezvous',
    job_id: jobId('j1'),
    attempt_id: attemptId('a1'),
    address: '127.0.0.1',
    port: 29_500,
  });
  const end = await orchestrator.reported('completed');
  expect(await exit).toBe(0);
  return { orchestrator, introduction, ready: ready.body, end: end.body };
}

it('registers a simulated worker with multi_node, and reports it as ready', async () => {
  const { introduction, ready } = await trainAs(1);
  expect(introduction['multi_node']).toBe(true);
  expect(ready['ready']).toEqual({ address: '127.0.0.1', port: 29_500 });
});

it('sends the log and the progress of a simulated training from the first worker only', async () => {
  const first = await trainAs(0);
  expect(first.end['progress']).toMatchObject({ step: 5 });
  expect(first.orchestrator.count('logs')).toBeGreaterThan(0);
  const second = await trainAs(1);
  expect(second.end).not.toHaveProperty('progress');
  expect([second.orchestrator.count('logs'), second.orchestrator.count('metrics')]).toEqual([0, 0]);
});
