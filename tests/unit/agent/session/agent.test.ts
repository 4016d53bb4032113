import { describe, expect, it } from 'vitest';
import { holdTime, pass, passUntil, startAgent, startBusy } from '../agent-bench.ts';
import { offerOf } from '../builders.ts';
import { refused, startOrchestrator } from '../scripted-orchestrator.ts';

holdTime();

describe('a job, from the offer to the report', () => {
  it('register, stream, claim, run, report: and the next one', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, started, kept } = startAgent(orchestrator);
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
    expect(kept()).toBeNull();
    second.end(0);
    await orchestrator.reported('completed', 'b1');
    const words = orchestrator.calls
      .filter(({ name }) => name === 'status')
      .map(({ body }) => body['status']);
    expect(words.filter(word => word !== 'running')).toEqual(['starting', 'failed', 'starting', 'completed']);
    expect(orchestrator.count('disconnect')).toBe(0);
  });

  it('the introduction says what the machine is, and that it holds nothing', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, said } = startAgent(orchestrator);
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
    expect(said).toEqual([`Connected to ${orchestrator.url} as rig-3 (w_1)`]);
  });

  it('a claim that is refused starts nothing, and ends no worker that leaves after one job', async () => {
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

  it('an offer that comes twice is claimed once', async () => {
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
  it('a worker that is not persistent goes after its first job, says so, and takes no other', async () => {
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
    ['one that waits for its only job', false],
  ])('%s that is told to leave while it is idle goes at once', async (_what, persistent) => {
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
  ])('told to leave during a job %s, it finishes the job first and takes no other', async (_what, how) => {
    const orchestrator = await startOrchestrator();
    const { agent, connected, started, runs, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const { end, stops } = await started();
    if (how === 'signal') agent.leave();
    else orchestrator.push({ type: 'shutdown', reason: 'drained' });
    orchestrator.push(offerOf('j2', 'b1'));
    const beats = orchestrator.count('heartbeat');
    await pass(40_000);
    await orchestrator.nth('heartbeat', beats + 1);
    expect(stops).toEqual([]);
    end(0);
    expect(await exit).toBe(0);
    expect(runs).toHaveLength(1);
    await orchestrator.reported('completed');
    expect(orchestrator.calls.at(-1)?.name).toBe('disconnect');
  });

  it('by the orchestrator while it is idle, it goes at once', async () => {
    const orchestrator = await startOrchestrator();
    const { connected, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push({ type: 'shutdown', reason: 'drained' });
    expect(await exit).toBe(0);
    expect(orchestrator.count('disconnect')).toBe(1);
  });

  it('now stops the job, reports it as preempted, and goes', async () => {
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

  it('now, with nobody to report to, keeps the report and goes when its grace is over', async () => {
    const orchestrator = await startOrchestrator();
    const { agent, connected, started, kept, exit } = startAgent(orchestrator);
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    const { end } = await started();
    orchestrator.vanish(true);
    agent.leaveNow();
    end(null, 'SIGTERM');
    await pass(24_999);
    expect(kept()).toMatchObject({ attemptId: 'a1', body: { cause: 'preempted' } });
    await pass(1);
    expect(await exit).toBe(0);
    expect(kept()).toMatchObject({ attemptId: 'a1', body: { cause: 'preempted' } });
  });

  it('before it was ever known says no goodbye', async () => {
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

describe('a token that is refused', () => {
  it('at the first registration ends the worker with exit code 3', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.register = () => refused(401);
    const { exit, said } = startAgent(orchestrator);
    expect(await exit).toBe(3);
    expect(said).toEqual([expect.stringMatching(/^Invalid token: /)]);
    expect(orchestrator.calls.map(({ name }) => name)).toEqual(['register']);
  });

  it('during a job ends the worker at once, and leaves the job to its guard', async () => {
    const { orchestrator, run, exit, says, said, kept } = await startBusy();
    for (const call of ['register', 'stream', 'heartbeat', 'status'] as const) {
      orchestrator.answers[call] = () => refused(401);
    }
    orchestrator.endStream();
    await passUntil(says('Invalid token'));
    expect(await exit).toBe(3);
    expect(said.at(-1)).toMatch(/^Job j1 goes on without this worker/);
    expect(run.stops).toEqual([]);
    expect(run.isLeft()).toBe(true);
    expect(kept()).toBeNull();
    expect(orchestrator.count('disconnect')).toBe(0);
  });

  it('while a report is on its way ends the worker, and the report stays on disk', async () => {
    const { orchestrator, run, exit, kept } = await startBusy();
    for (const call of ['register', 'stream', 'heartbeat', 'status'] as const) {
      orchestrator.answers[call] = () => refused(401);
    }
    run.end(0);
    await orchestrator.reported('completed');
    orchestrator.endStream();
    expect(await passUntil(exit)).toBe(3);
    expect(kept()).toMatchObject({ attemptId: 'a1', body: { status: 'completed' } });
  });
});

it('an orchestrator that is not there yet is waited for', async () => {
  const orchestrator = await startOrchestrator();
  orchestrator.vanish(true);
  const { connected, says, said } = startAgent(orchestrator);
  await says('Connection lost');
  await pass(10_000);
  orchestrator.vanish(false);
  await passUntil(connected());
  expect(said).toEqual([
    expect.stringMatching(/^Connection lost: .*Trying again$/),
    expect.stringMatching(/^Connected to/),
  ]);
});
