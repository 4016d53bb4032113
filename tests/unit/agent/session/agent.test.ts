import { describe, expect, it } from 'vitest';
import {
  useFakeTimers,
  advanceTime,
  advanceTimeUntil,
  startAgent,
  startAgentWithJob,
} from '../agent-fixture.ts';
import { offerOf } from '../builders.ts';
import { refused, startOrchestrator } from '../scripted-orchestrator.ts';

useFakeTimers();

describe('a job', () => {
  it('registers, opens the stream, claims, runs and reports two jobs in a row', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, started, storedReport } = startAgent(orchestrator);
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const first = await started();
    expect(orchestrator.calls.slice(0, 3).map(({ name }) => name)).toEqual(['register', 'stream', 'status']);
    expect(orchestrator.calls[2]).toMatchObject({
      jobId: 'j1',
      body: { status: 'starting', attempt_id: 'a1' },
    });
    await orchestrator.reported('running');
    first.end(1, null, 'RuntimeError');
    const failed = await orchestrator.reported('failed');
    expect(failed).toEqual({
      name: 'status',
      token: 'wt_1',
      jobId: 'j1',
      body: {
        status: 'failed',
        attempt_id: 'a1',
        error: 'Training exited with code 1\nRuntimeError',
        exit_code: 1,
        signal: null,
      },
    });
    orchestrator.push(offerOf('j2', 'b1'));
    const second = await started(2);
    expect(storedReport()).toBeNull();
    second.end(0);
    await orchestrator.reported('completed', 'b1');
    const statuses = orchestrator.calls
      .filter(({ name }) => name === 'status')
      .map(({ body }) => body['status']);
    expect(statuses.filter(status => status !== 'running')).toEqual([
      'starting',
      'failed',
      'starting',
      'completed',
    ]);
    expect(orchestrator.count('disconnect')).toBe(0);
  });

  it('registers with the description of the machine and no job', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, logLines } = startAgent(orchestrator);
    await connected();
    const { token, body } = await orchestrator.nth('register');
    expect(token).toBe('wt_1');
    expect(body).toEqual({
      registration_no: 1,
      name: 'rig',
      gpu_info: { count: 2, name: 'RTX 4090' },
      protocol: 2,
      current_job_id: null,
      current_attempt_id: null,
    });
    expect(logLines).toEqual([`Connected to ${orchestrator.url} as rig-3 (w_1)`]);
  });

  it('starts no trainer after a refused claim, and keeps an ephemeral worker running', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, runs, started } = startAgent(orchestrator, { persistent: false });
    orchestrator.answers.status = ({ body }) =>
      body['attempt_id'] === 'a1' ? refused(409, 'stop') : { status: 200, body: { success: true } };
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    await orchestrator.reported('starting', 'a1');
    orchestrator.push(offerOf('j1', 'a2'));
    await started();
    expect(runs).toHaveLength(1);
    expect(orchestrator.count('disconnect')).toBe(0);
  });

  it('claims an offer only once when the offer arrives several times', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, started, runs } = startAgent(orchestrator);
    await connected();
    for (let n = 0; n < 3; n += 1) orchestrator.push(offerOf('j1', 'a1'));
    const { end } = await started();
    end(0);
    await orchestrator.reported('completed');
    expect(runs).toHaveLength(1);
    expect(orchestrator.calls.filter(({ body }) => body['status'] === 'starting')).toHaveLength(1);
  });
});

describe('leaving', () => {
  it('disconnects and exits after the first job of an ephemeral worker', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, started, runs, exit } = startAgent(orchestrator, { persistent: false });
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const { end } = await started();
    orchestrator.push(offerOf('j2', 'b1'));
    end(1);
    expect(await exit).toBe(0);
    expect(runs).toHaveLength(1);
    expect(orchestrator.calls.at(-1)).toMatchObject({ name: 'disconnect', body: { worker_id: 'w_1' } });
    expect((await orchestrator.reported('failed')).body['attempt_id']).toBe('a1');
  });

  it.each<[string, boolean]>([
    ['a persistent worker', true],
    ['an ephemeral worker without a job', false],
  ])('exits immediately when %s is ordered to leave while idle', async (_title, persistent) => {
    const orchestrator = await startOrchestrator();
    const { agent, connected, exit } = startAgent(orchestrator, { persistent });
    await connected();
    agent.leave();
    expect(await exit).toBe(0);
    expect(orchestrator.calls.at(-1)).toMatchObject({ name: 'disconnect', body: { worker_id: 'w_1' } });
  });

  it.each<[string, 'signal' | 'command']>([
    ['by a signal', 'signal'],
    ['by the orchestrator', 'command'],
  ])('finishes its job and accepts no other job when it is ordered to leave %s', async (_title, how) => {
    const orchestrator = await startOrchestrator();
    const { agent, connected, started, runs, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const { end, stops } = await started();
    if (how === 'signal') agent.leave();
    else orchestrator.push({ type: 'shutdown', reason: 'drained' });
    orchestrator.push(offerOf('j2', 'b1'));
    const heartbeats = orchestrator.count('heartbeat');
    await advanceTime(40_000);
    await orchestrator.nth('heartbeat', heartbeats + 1);
    expect(stops).toEqual([]);
    end(0);
    expect(await exit).toBe(0);
    expect(runs).toHaveLength(1);
    await orchestrator.reported('completed');
    expect(orchestrator.calls.at(-1)?.name).toBe('disconnect');
  });

  it('exits immediately when the orchestrator shuts an idle worker down', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push({ type: 'shutdown', reason: 'drained' });
    expect(await exit).toBe(0);
    expect(orchestrator.count('disconnect')).toBe(1);
  });

  it('stops its job in leaveNow(), reports the job as preempted, and exits', async () => {
    const orchestrator = await startOrchestrator();
    const { agent, connected, started, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const { end, stops } = await started();
    agent.leaveNow();
    expect(stops).toEqual([20_000]);
    end(null, 'SIGTERM');
    expect(await exit).toBe(0);
    expect((await orchestrator.reported('failed')).body).toMatchObject({ cause: 'preempted' });
  });

  it('stores the report and exits after the grace period when the server is unreachable', async () => {
    const orchestrator = await startOrchestrator();
    const { agent, connected, started, storedReport, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const { end } = await started();
    orchestrator.setUnreachable(true);
    agent.leaveNow();
    end(null, 'SIGTERM');
    await advanceTime(24_999);
    expect(storedReport()).toMatchObject({ attemptId: 'a1', body: { cause: 'preempted' } });
    await advanceTime(1);
    expect(await exit).toBe(0);
    expect(storedReport()).toMatchObject({ attemptId: 'a1', body: { cause: 'preempted' } });
  });

  it('does not disconnect from the server before its first registration', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.register = () => refused(503);
    const { agent, exit } = startAgent(orchestrator);
    await orchestrator.nth('register');
    agent.leave();
    expect(await exit).toBe(0);
    expect(orchestrator.count('disconnect')).toBe(0);
    expect(orchestrator.count('stream')).toBe(0);
  });
});

describe('refused tokens', () => {
  it('exits with 3 when the first registration refuses the token', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.register = () => refused(401);
    const { exit, logLines } = startAgent(orchestrator);
    expect(await exit).toBe(3);
    expect(logLines).toEqual([expect.stringMatching(/^Invalid token: /)]);
    expect(orchestrator.calls.map(({ name }) => name)).toEqual(['register']);
  });

  it('exits when the token is refused during a job, and leaves the job to its guard', async () => {
    const { orchestrator, run, exit, logged, logLines, storedReport } = await startAgentWithJob();
    for (const call of ['register', 'stream', 'heartbeat', 'status'] as const) {
      orchestrator.answers[call] = () => refused(401);
    }
    orchestrator.endStream();
    await advanceTimeUntil(logged('Invalid token'));
    expect(await exit).toBe(3);
    expect(logLines.at(-1)).toMatch(/^Job j1 continues without this worker/);
    expect(run.stops).toEqual([]);
    expect(run.hasAgentLeft()).toBe(true);
    expect(storedReport()).toBeNull();
    expect(orchestrator.count('disconnect')).toBe(0);
  });

  it('exits when the token is refused during the final report, and keeps the report on disk', async () => {
    const { orchestrator, run, exit, storedReport } = await startAgentWithJob();
    for (const call of ['register', 'stream', 'heartbeat', 'status'] as const) {
      orchestrator.answers[call] = () => refused(401);
    }
    run.end(0);
    await orchestrator.reported('completed');
    orchestrator.endStream();
    expect(await advanceTimeUntil(exit)).toBe(3);
    expect(storedReport()).toMatchObject({ attemptId: 'a1', body: { status: 'completed' } });
  });
});

it('retries the registration until the server answers', async () => {
  const orchestrator = await startOrchestrator();
  orchestrator.setUnreachable(true);
  const { connected, logged, logLines } = startAgent(orchestrator);
  await logged('Connection lost');
  await advanceTime(10_000);
  orchestrator.setUnreachable(false);
  await advanceTimeUntil(connected());
  expect(logLines).toEqual([
    expect.stringMatching(/^Connection lost: .*Trying again$/),
    expect.stringMatching(/^Connected to/),
  ]);
});
