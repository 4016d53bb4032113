import { describe, expect, it } from 'vitest';
import type { AgentDeps } from '../../../../agent/session/agent.ts';
import { openStateFolder } from '../../../../agent/state/state-folder.ts';
import {
  type AgentBench,
  beat,
  holdTime,
  pass,
  passUntil,
  startAgent,
  startBusy,
  tokenOf,
} from '../agent-bench.ts';
import { attemptId, jobId, offerOf, tempFolder, writeFile } from '../builders.ts';
import {
  refused,
  registerReply,
  type ScriptedOrchestrator,
  startOrchestrator,
} from '../scripted-orchestrator.ts';

holdTime();

const left = {
  jobId: jobId('j0'),
  attemptId: attemptId('a0'),
  body: { status: 'completed', exit_code: 0, progress: { step: 100 } },
} as const;

/** Starts an agent whose earlier process has left this report on disk. */
function startWithReport(orchestrator: ScriptedOrchestrator, parts: Partial<AgentDeps> = {}): AgentBench {
  const stateDir = tempFolder();
  openStateFolder(stateDir).keepReport(left);
  return startAgent(orchestrator, { stateDir, found: { kind: 'reported', report: left }, ...parts });
}

describe('a stream that is lost', () => {
  it.each<[string, 'endStream' | 'breakStream']>([
    ['in good order', 'endStream'],
    ['in the middle', 'breakStream'],
  ])('%s is opened again, after a registration that names the job', async (_what, how) => {
    const { orchestrator, connected, run } = await startBusy();
    orchestrator[how]();
    await passUntil(connected(2));
    expect((await orchestrator.nth('register', 2)).body).toMatchObject({
      current_job_id: 'j1',
      current_attempt_id: 'a1',
    });
    expect(orchestrator.count('stream')).toBe(2);
    expect(run.stops).toEqual([]);
    run.end(0);
    await orchestrator.reported('completed');
  });

  it('by silence is opened again', async () => {
    const { orchestrator, connected } = await startBusy();
    await pass(60_000);
    await passUntil(connected(2));
    expect(orchestrator.count('register')).toBe(2);
  });

  it('because the orchestrator is gone leaves the training alone, and its end is reported later', async () => {
    const { orchestrator, connected, run, kept, said } = await startBusy();
    orchestrator.vanish(true);
    for (let n = 0; n < 30; n += 1) await pass(10_000);
    expect(run.stops).toEqual([]);
    run.end(0);
    await pass(30_000);
    expect(kept()).toMatchObject({ attemptId: 'a1', body: { status: 'completed' } });
    orchestrator.vanish(false);
    await passUntil(connected(2));
    await passUntil(orchestrator.reported('completed'));
    expect(said.some(line => line.startsWith('Heartbeat timeout (120s)'))).toBe(true);
    expect(said.length).toBeLessThan(10);
  });

  it('takes over the figures of the new registration', async () => {
    const { orchestrator, connected, run } = await startBusy();
    orchestrator.answers.register = () =>
      registerReply({ stop_grace_s: 7, cancel: { job_id: 'j1', attempt_id: 'a1' } });
    orchestrator.endStream();
    await passUntil(connected(2));
    expect(run.stops).toEqual([7_000]);
  });

  it('to a worker that is leaving is opened again as long as its job runs', async () => {
    const { orchestrator, agent, connected, run, exit } = await startBusy({ persistent: false });
    agent.leave();
    orchestrator.endStream();
    await passUntil(connected(2));
    orchestrator.push(offerOf('j2', 'b1'));
    run.end(0);
    expect(await exit).toBe(0);
    expect(orchestrator.calls.some(({ body }) => body['attempt_id'] === 'b1')).toBe(false);
  });
});

describe('a token that is rotated', () => {
  it('is read again from its file, and the job goes on', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const { orchestrator, connected, run, says } = await startBusy({
      token: tokenOf({ kind: 'file', path }),
    });
    const { register } = orchestrator.answers;
    orchestrator.answers.register = call => (call.token === 'wt_2' ? register(call) : refused(401));
    orchestrator.endStream();
    await passUntil(says('The orchestrator rejected the token'));
    writeFile(folder, 'token', 'wt_2');
    await passUntil(connected(2));
    expect((await orchestrator.nth('stream', 2)).token).toBe('wt_2');
    run.end(0);
    expect((await orchestrator.reported('completed')).token).toBe('wt_2');
    expect(run.stops).toEqual([]);
  });

  it('is read again when the stream alone refuses it', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const orchestrator = await startOrchestrator();
    const { stream, register } = orchestrator.answers;
    orchestrator.answers.stream = call => (call.token === 'wt_2' ? stream(call) : refused(401));
    orchestrator.answers.register = call =>
      call.token === 'wt_2' || orchestrator.count('stream') === 0 ? register(call) : refused(401);
    const { connected } = startAgent(orchestrator, { token: tokenOf({ kind: 'file', path }) });
    await orchestrator.nth('stream');
    writeFile(folder, 'token', 'wt_2');
    await passUntil(connected());
    expect((await orchestrator.nth('stream', 2)).token).toBe('wt_2');
  });

  it('the old one is in no later call', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const token = tokenOf({ kind: 'file', path });
    const { orchestrator } = await startBusy({ token });
    writeFile(folder, 'token', 'wt_2');
    // As on SIGHUP.
    expect(token.reload()).toBe(true);
    expect((await beat(orchestrator)).token).toBe('wt_2');
  });
});

describe('a report that an earlier run of the agent could not deliver', () => {
  it('is delivered, and then the worker takes jobs', async () => {
    const orchestrator = await startOrchestrator();
    const { kept, connected, started } = startWithReport(orchestrator);
    expect((await orchestrator.reported('completed')).body).toEqual({ ...left.body, attempt_id: 'a0' });
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    await started();
    expect(kept()).toBeNull();
  });

  it('is delivered by a worker that leaves after one job, which was that one', async () => {
    const orchestrator = await startOrchestrator();
    const { kept, exit } = startWithReport(orchestrator, { persistent: false });
    expect(await exit).toBe(0);
    expect((await orchestrator.reported('completed')).body['attempt_id']).toBe('a0');
    expect(kept()).toBeNull();
  });

  it('is named at registration for as long as it is on its way', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.status = () => refused(503);
    const { connected, kept } = startWithReport(orchestrator);
    expect((await orchestrator.nth('register')).body).toMatchObject({
      current_job_id: 'j0',
      current_attempt_id: 'a0',
    });
    await connected();
    expect(kept()).toEqual(left);
    const late = orchestrator.count('status');
    orchestrator.answers.status = () => ({ status: 200, body: { success: true, duplicate: true } });
    await passUntil(orchestrator.nth('status', late + 1));
    orchestrator.push(offerOf('j1', 'a1'));
    await passUntil(orchestrator.reported('starting', 'a1'));
    expect(kept()).toBeNull();
  });

  it("is forgotten when the job is another one's by now", async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.status = () => refused(409, 'stop');
    const { connected, kept, started } = startWithReport(orchestrator);
    await connected();
    orchestrator.answers.status = () => ({ status: 200, body: { success: true } });
    orchestrator.push(offerOf('j1', 'a1'));
    await passUntil(started());
    expect(kept()).toBeNull();
  });
});
