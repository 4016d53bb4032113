import { describe, expect, it } from 'vitest';
import type { AgentDeps } from '../../../../agent/session/agent.ts';
import { openStateFolder } from '../../../../agent/state/state-folder.ts';
import {
  type AgentFixture,
  nextHeartbeat,
  useFakeTimers,
  advanceTime,
  advanceTimeUntil,
  startAgent,
  startAgentWithJob,
  openTokenHolder,
} from '../agent-fixture.ts';
import { attemptId, jobId, offerOf, tempFolder, writeFile } from '../builders.ts';
import {
  refused,
  registerReply,
  type ScriptedOrchestrator,
  startOrchestrator,
} from '../scripted-orchestrator.ts';

useFakeTimers();

/** The final report that an earlier process of the agent has left on disk. */
const earlierReport = {
  jobId: jobId('j0'),
  attemptId: attemptId('a0'),
  body: { status: 'completed', exit_code: 0, progress: { step: 100 } },
} as const;

/** Starts an agent that finds `earlierReport`. */
function startWithReport(
  orchestrator: ScriptedOrchestrator,
  overrides: Partial<AgentDeps> = {},
): AgentFixture {
  const stateDir = tempFolder();
  openStateFolder(stateDir).keepReport(earlierReport);
  return startAgent(orchestrator, {
    stateDir,
    found: { kind: 'reported', report: earlierReport },
    ...overrides,
  });
}

describe('lost streams', () => {
  it.each<[string, 'endStream' | 'breakStream']>([
    ['cleanly', 'endStream'],
    ['abruptly', 'breakStream'],
  ])('reopens a stream that ended %s, after a registration that names the job', async (_title, how) => {
    const { orchestrator, connected, run } = await startAgentWithJob();
    orchestrator[how]();
    await advanceTimeUntil(connected(2));
    expect((await orchestrator.nth('register', 2)).body).toMatchObject({
      current_job_id: 'j1',
      current_attempt_id: 'a1',
    });
    expect(orchestrator.count('stream')).toBe(2);
    expect(run.stops).toEqual([]);
    run.end(0);
    await orchestrator.reported('completed');
  });

  it('reopens a stream that is silent for too long', async () => {
    const { orchestrator, connected } = await startAgentWithJob();
    await advanceTime(60_000);
    await advanceTimeUntil(connected(2));
    expect(orchestrator.count('register')).toBe(2);
  });

  it('keeps the training while the server is unreachable, and reports the end afterwards', async () => {
    const { orchestrator, connected, run, storedReport, logLines } = await startAgentWithJob();
    orchestrator.setUnreachable(true);
    for (let n = 0; n < 30; n += 1) await advanceTime(10_000);
    expect(run.stops).toEqual([]);
    run.end(0);
    await advanceTime(30_000);
    expect(storedReport()).toMatchObject({ attemptId: 'a1', body: { status: 'completed' } });
    orchestrator.setUnreachable(false);
    await advanceTimeUntil(connected(2));
    await advanceTimeUntil(orchestrator.reported('completed'));
    expect(logLines.some(line => line.startsWith('Heartbeat timeout (120s)'))).toBe(true);
    expect(logLines.length).toBeLessThan(10);
  });

  it('applies the grace period and the cancel of a new registration', async () => {
    const { orchestrator, connected, run } = await startAgentWithJob();
    orchestrator.answers.register = () =>
      registerReply({ stop_grace_s: 7, cancel: { job_id: 'j1', attempt_id: 'a1' } });
    orchestrator.endStream();
    await advanceTimeUntil(connected(2));
    expect(run.stops).toEqual([7_000]);
  });

  it('reopens the stream of a leaving worker while its job runs', async () => {
    const { orchestrator, agent, connected, run, exit } = await startAgentWithJob({ persistent: false });
    agent.leave();
    orchestrator.endStream();
    await advanceTimeUntil(connected(2));
    orchestrator.push(offerOf('j2', 'b1'));
    run.end(0);
    expect(await exit).toBe(0);
    expect(orchestrator.calls.some(({ body }) => body['attempt_id'] === 'b1')).toBe(false);
  });
});

describe('rotated tokens', () => {
  it('rereads a rotated token from its file, and continues the job', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const { orchestrator, connected, run, logged } = await startAgentWithJob({
      token: openTokenHolder({ kind: 'file', path }),
    });
    const { register } = orchestrator.answers;
    orchestrator.answers.register = call => (call.token === 'wt_2' ? register(call) : refused(401));
    orchestrator.endStream();
    await advanceTimeUntil(logged('The orchestrator rejected the token'));
    writeFile(folder, 'token', 'wt_2');
    await advanceTimeUntil(connected(2));
    expect((await orchestrator.nth('stream', 2)).token).toBe('wt_2');
    run.end(0);
    expect((await orchestrator.reported('completed')).token).toBe('wt_2');
    expect(run.stops).toEqual([]);
  });

  it('rereads the token when only the stream refuses it', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const orchestrator = await startOrchestrator();
    const { stream, register } = orchestrator.answers;
    orchestrator.answers.stream = call => (call.token === 'wt_2' ? stream(call) : refused(401));
    orchestrator.answers.register = call =>
      call.token === 'wt_2' || orchestrator.count('stream') === 0 ? register(call) : refused(401);
    const { connected } = startAgent(orchestrator, { token: openTokenHolder({ kind: 'file', path }) });
    await orchestrator.nth('stream');
    writeFile(folder, 'token', 'wt_2');
    await advanceTimeUntil(connected());
    expect((await orchestrator.nth('stream', 2)).token).toBe('wt_2');
  });

  it('uses a reloaded token in the next call', async () => {
    const folder = tempFolder();
    const path = writeFile(folder, 'token', 'wt_1');
    const token = openTokenHolder({ kind: 'file', path });
    const { orchestrator } = await startAgentWithJob({ token });
    writeFile(folder, 'token', 'wt_2');
    // The signal SIGHUP calls `reload` too.
    expect(token.reload()).toBe(true);
    expect((await nextHeartbeat(orchestrator)).token).toBe('wt_2');
  });
});

describe('reports of an earlier process', () => {
  it('sends a stored report, and then takes jobs', async () => {
    const orchestrator = await startOrchestrator();
    const { storedReport, connected, started } = startWithReport(orchestrator);
    expect((await orchestrator.reported('completed')).body).toEqual({
      ...earlierReport.body,
      attempt_id: 'a0',
    });
    await connected();
    orchestrator.push(offerOf('j1', 'a1'));
    await started();
    expect(storedReport()).toBeNull();
  });

  it('sends a stored report as the only job of an ephemeral worker', async () => {
    const orchestrator = await startOrchestrator();
    const { storedReport, exit } = startWithReport(orchestrator, { persistent: false });
    expect(await exit).toBe(0);
    expect((await orchestrator.reported('completed')).body['attempt_id']).toBe('a0');
    expect(storedReport()).toBeNull();
  });

  it('names the job of a stored report in registrations until the report is accepted', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.status = () => refused(503);
    const { connected, storedReport } = startWithReport(orchestrator);
    expect((await orchestrator.nth('register')).body).toMatchObject({
      current_job_id: 'j0',
      current_attempt_id: 'a0',
    });
    await connected();
    expect(storedReport()).toEqual(earlierReport);
    const refusedReports = orchestrator.count('status');
    orchestrator.answers.status = () => ({ status: 200, body: { success: true, duplicate: true } });
    await advanceTimeUntil(orchestrator.nth('status', refusedReports + 1));
    orchestrator.push(offerOf('j1', 'a1'));
    await advanceTimeUntil(orchestrator.reported('starting', 'a1'));
    expect(storedReport()).toBeNull();
  });

  it('drops a stored report whose attempt is superseded', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.status = () => refused(409, 'stop');
    const { connected, storedReport, started } = startWithReport(orchestrator);
    await connected();
    orchestrator.answers.status = () => ({ status: 200, body: { success: true } });
    orchestrator.push(offerOf('j1', 'a1'));
    await advanceTimeUntil(started());
    expect(storedReport()).toBeNull();
  });
});
