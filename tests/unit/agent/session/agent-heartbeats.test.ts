import { describe, expect, it } from 'vitest';
import {
  nextHeartbeat,
  useFakeTimers,
  advanceTime,
  advanceTimeUntil,
  startAgent,
  startAgentWithJob,
} from '../agent-fixture.ts';
import { offerOf } from '../builders.ts';
import { heartbeatReply, refused, registerReply, startOrchestrator } from '../scripted-orchestrator.ts';

useFakeTimers();

describe('heartbeats', () => {
  it('sends a heartbeat with status idle while there is no job', async () => {
    const orchestrator = await startOrchestrator();
    const { connected } = startAgent(orchestrator);
    await connected();
    expect((await nextHeartbeat(orchestrator)).body).toEqual({
      gpu_utilization: 42,
      worker_id: 'w_1',
      status: 'idle',
      current_job_id: null,
      attempt_id: null,
    });
  });

  it('sends the attempt and its progress in the heartbeat', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    run.listeners.onProgress({ step: 7, loss: 0.25 });
    expect((await nextHeartbeat(orchestrator)).body).toMatchObject({
      status: 'busy',
      current_job_id: 'j1',
      attempt_id: 'a1',
      job_progress: { step: 7, loss: 0.25 },
    });
  });

  it('keeps sending busy heartbeats until the final report is accepted', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    orchestrator.answers.status = () => refused(503);
    run.end(0);
    await orchestrator.reported('completed');
    expect((await nextHeartbeat(orchestrator)).body).toMatchObject({ status: 'busy', attempt_id: 'a1' });
  });

  it('follows the interval of the last heartbeat response', async () => {
    const { orchestrator } = await startAgentWithJob();
    orchestrator.answers.heartbeat = () => heartbeatReply({ heartbeat_interval_s: 5 });
    await nextHeartbeat(orchestrator);
    const startedAt = performance.now();
    await advanceTimeUntil(orchestrator.nth('heartbeat', orchestrator.count('heartbeat') + 4), 450);
    // A random number of 0 shortens each interval from 5 s to 4.5 s. Each round trip adds to the interval.
    expect(performance.now() - startedAt).toBeGreaterThan(3 * 4_500);
    expect(performance.now() - startedAt).toBeLessThan(27_000);
  });

  it('reports the cause of failed heartbeats, and a timeout after the heartbeat timeout', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.register = () => registerReply({ stream_silence_s: 3_600 });
    orchestrator.answers.heartbeat = () => refused(503);
    const { connected, logLines } = startAgent(orchestrator);
    await connected();
    for (let n = 0; n < 18; n += 1) await nextHeartbeat(orchestrator);
    const troubles = logLines.filter(line => /refused the call|Heartbeat timeout/.test(line));
    expect(troubles).toEqual([
      expect.stringContaining('refused with 503'),
      expect.stringMatching(/^Heartbeat timeout \(120s\)/),
    ]);
  });

  it("sends heartbeats until a leaving worker's job is done", async () => {
    const { orchestrator, agent, run, exit } = await startAgentWithJob();
    agent.leave();
    for (let n = 0; n < 3; n += 1) await nextHeartbeat(orchestrator);
    run.end(0);
    expect(await exit).toBe(0);
    const count = orchestrator.count('heartbeat');
    await advanceTime(120_000);
    expect(orchestrator.count('heartbeat')).toBe(count);
  });
});

describe('progress reports', () => {
  it('sends at most one progress report per second, with the newest progress', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    const steps = (): unknown[] =>
      orchestrator.calls.flatMap(({ name, body }) =>
        name === 'status' && body['progress'] ? [body['progress']] : [],
      );
    for (let step = 1; step <= 100; step += 1) run.listeners.onProgress({ step });
    await advanceTimeUntil(
      orchestrator.until(({ body }) => JSON.stringify(body['progress']) === '{"step":100}'),
    );
    expect(steps()).toEqual([{ step: 100 }]);
  });

  it('drops queued progress after the final report, so that the server does not show the job as running', async () => {
    const { orchestrator, run, started } = await startAgentWithJob();
    run.listeners.onProgress({ step: 1 });
    run.end(1);
    await orchestrator.reported('failed');
    orchestrator.push(offerOf('j1', 'a2'));
    const second = await started(2);
    second.listeners.onProgress({ step: 1 });
    await advanceTimeUntil(orchestrator.reported('running', 'a2'));
    const statuses = orchestrator.calls
      .filter(({ name, body }) => name === 'status' && body['attempt_id'] === 'a1')
      .map(({ body }) => body['status']);
    expect(statuses).toEqual(['starting', 'running', 'failed']);
  });
});
