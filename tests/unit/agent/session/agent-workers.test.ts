/**
 * Tests how one agent takes part in an attempt on several workers. Each worker has a rank. The rendezvous tells all workers the
 * address of the worker of rank 0.
 */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nextHeartbeat, useFakeTimers, advanceTime, advanceTimeUntil, startAgent } from '../agent-fixture.ts';
import { attemptId, jobId, offerOf } from '../builders.ts';
import { endRun, flushCallbacks } from '../controlled-runs.ts';
import {
  heartbeatReply,
  refused,
  type ScriptedOrchestrator,
  startOrchestrator,
} from '../scripted-orchestrator.ts';

useFakeTimers();

const rendezvous = {
  job_id: jobId('j1'),
  attempt_id: attemptId('a1'),
  address: 'rig-0.example.org',
  port: 29_501,
};

const untilReady = (orchestrator: ScriptedOrchestrator) =>
  orchestrator.until(({ name, body }) => name === 'status' && body['ready'] !== undefined);

/** Starts an agent that waits for the other workers of its attempt. */
async function startWaiting(rank = 1, options: Parameters<typeof startAgent>[1] = {}) {
  const orchestrator = await startOrchestrator();
  const fixture = startAgent(orchestrator, options);
  await fixture.connected();
  orchestrator.push(offerOf('j1', 'a1', { node: { rank, count: 2 } }));
  await untilReady(orchestrator);
  return { ...fixture, orchestrator };
}

const statuses = ({ calls }: ScriptedOrchestrator, attempt: string) =>
  calls
    .filter(({ name, body }) => name === 'status' && body['attempt_id'] === attempt)
    .map(({ body }) => body['status']);

describe('rendezvous of an attempt on several workers', () => {
  it('starts the trainer when the rendezvous arrives on the stream', async () => {
    const { orchestrator, started } = await startWaiting();
    orchestrator.push({ type: 'job_rendezvous', ...rendezvous });
    await started();
    expect((await orchestrator.reported('running')).body).toMatchObject({ attempt_id: 'a1' });
  });

  it('starts the trainer when the rendezvous arrives in the reply to a heartbeat', async () => {
    const { orchestrator, started, runs } = await startWaiting();
    orchestrator.answers.heartbeat = () => heartbeatReply({ rendezvous });
    await nextHeartbeat(orchestrator);
    await advanceTimeUntil(started());
    for (let n = 0; n < 3; n += 1) await nextHeartbeat(orchestrator);
    expect(runs).toHaveLength(1);
  });

  it('reports running again when a reply repeats the rendezvous', async () => {
    const { orchestrator, started } = await startWaiting();
    orchestrator.answers.status = () => refused(503);
    orchestrator.push({ type: 'job_rendezvous', ...rendezvous });
    await started();
    await advanceTimeUntil(orchestrator.arrived('status', 3));
    orchestrator.answers.status = () => ({ status: 200, body: { success: true } });
    orchestrator.answers.heartbeat = () => heartbeatReply({ rendezvous });
    await nextHeartbeat(orchestrator);
    await advanceTimeUntil(orchestrator.nth('status', 4));
    expect(statuses(orchestrator, 'a1')).toEqual(['starting', 'starting', 'running', 'running']);
  });

  it('retries the ready report until the orchestrator accepts it', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, started } = startAgent(orchestrator);
    await connected();
    let isFirstReport = true;
    orchestrator.answers.status = ({ body }) => {
      if (body['ready'] !== undefined && isFirstReport) {
        isFirstReport = false;
        return refused(503);
      }
      return { status: 200, body: { success: true } };
    };
    orchestrator.push(offerOf('j1', 'a1', { node: { rank: 1, count: 2 } }));
    const { body } = await advanceTimeUntil(orchestrator.nth('status', 3));
    expect(body['ready']).toEqual({ address: '192.0.2.1', port: 29_500 });
    orchestrator.push({ type: 'job_rendezvous', ...rendezvous });
    await started();
  });

  it('accepts another job after the orchestrator has refused its ready report', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, started } = startAgent(orchestrator);
    await connected();
    orchestrator.answers.status = ({ body }) =>
      body['ready'] === undefined ? { status: 200, body: { success: true } } : refused(409, 'stop');
    orchestrator.push(offerOf('j1', 'a1', { node: { rank: 1, count: 2 } }));
    await orchestrator.nth('status', 2);
    orchestrator.push(offerOf('j2', 'b1'));
    await advanceTimeUntil(started());
    expect(statuses(orchestrator, 'a1')).toEqual(['starting', 'starting']);
  });
});

describe('a worker that is not the first of its attempt', () => {
  it('sends the attempt but no progress in the heartbeats of rank 1', async () => {
    const { orchestrator, started } = await startWaiting();
    orchestrator.push({ type: 'job_rendezvous', ...rendezvous });
    const run = await started();
    run.listeners.onProgress({ step: 3 });
    const { body } = await nextHeartbeat(orchestrator);
    expect(body).toMatchObject({ status: 'busy', current_job_id: 'j1', attempt_id: 'a1' });
    expect(body).not.toHaveProperty('job_progress');
    await advanceTime(20_000);
    expect(orchestrator.count('metrics')).toBe(0);
  });

  it.each([
    ['waits', false],
    ['trains', true],
  ])(
    'reports cancelled after a cancel in the reply to a heartbeat while rank 1 %s',
    async (_phase, isRunning) => {
      const { orchestrator, started, runs } = await startWaiting();
      if (isRunning) {
        orchestrator.push({ type: 'job_rendezvous', ...rendezvous });
        await started();
      }
      orchestrator.answers.heartbeat = () => heartbeatReply({ cancel: { job_id: 'j1', attempt_id: 'a1' } });
      await nextHeartbeat(orchestrator);
      await nextHeartbeat(orchestrator);
      for (const run of runs) await endRun(run, null, 'SIGTERM', '', { stopped: 'cancel' });
      await advanceTimeUntil(orchestrator.reported('cancelled'));
      expect(runs.map(({ orders }) => orders)).toEqual(isRunning ? [['cancel']] : []);
    },
  );

  it('accepts another job without a final report when a heartbeat abandons the waiting attempt', async () => {
    const { orchestrator, started } = await startWaiting();
    orchestrator.answers.heartbeat = () => heartbeatReply({ abandon_job: 'j1' });
    await nextHeartbeat(orchestrator);
    await flushCallbacks();
    orchestrator.push(offerOf('j2', 'b1'));
    await advanceTimeUntil(started());
    expect(statuses(orchestrator, 'a1')).toEqual(['starting', 'starting']);
  });

  it('registers without the attempt after a restart while rank 1 waited for the others', async () => {
    const { orchestrator, agent, exit, runs, state } = await startWaiting();
    expect(agent.handOver()).toBe(true);
    await exit;
    expect([runs, readdirSync(state.runsDir)]).toEqual([[], []]);
    const next = startAgent(orchestrator, { stateDir: state.runsDir.replace(/\/runs$/, '') });
    await next.connected();
    expect((await orchestrator.nth('register', 2)).body).toMatchObject({
      current_job_id: null,
      current_attempt_id: null,
    });
  });
});
