import { describe, expect, it } from 'vitest';
import {
  useFakeTimers,
  advanceTime,
  advanceTimeUntil,
  startAgent,
  startAgentWithJob,
} from '../agent-fixture.ts';
import { endRun } from '../controlled-runs.ts';
import { refused, startOrchestrator } from '../scripted-orchestrator.ts';

useFakeTimers();

const duplicate = {
  status: 409,
  body: { ...refused(409).body, code: 'duplicate_registration', detail: 'rig-7 was heard a moment ago' },
};

describe('refused registrations', () => {
  it('exits with 2 and the reason when the registration of an idle worker is refused', async () => {
    const orchestrator = await startOrchestrator();
    orchestrator.answers.register = () => refused(403);
    const { exit, logLines } = startAgent(orchestrator);
    expect(await exit).toBe(2);
    expect(logLines).toEqual([expect.stringMatching(/refused the call: refused with 403$/)]);
    expect(orchestrator.count('register')).toBe(1);
  });

  it('leaves the job to its guard when the registration is refused', async () => {
    const { orchestrator, run, exit } = await startAgentWithJob();
    orchestrator.answers.register = () => refused(400);
    orchestrator.endStream();
    expect(await advanceTimeUntil(exit)).toBe(2);
    expect(run.stops).toEqual([]);
    expect(run.hasAgentLeft()).toBe(true);
  });
});

describe('leaving during a job', () => {
  it('leaves a trainer to its guard when the trainer has not stopped after 25 s', async () => {
    const { orchestrator, agent, run, exit, storedReport } = await startAgentWithJob();
    agent.leaveNow();
    expect(run.orders).toEqual(['leave_now']);
    await advanceTime(24_999);
    expect(orchestrator.count('disconnect')).toBe(0);
    await advanceTime(1);
    expect(await exit).toBe(0);
    expect(run.hasAgentLeft()).toBe(true);
    expect(storedReport()).toBeNull();
    expect(orchestrator.count('disconnect')).toBe(1);
  });
});

describe('handing over a job', () => {
  it('hands its job over to the guard without a disconnect call or a report', async () => {
    const { orchestrator, agent, run, exit, storedReport } = await startAgentWithJob();
    expect(agent.handOver()).toBe(true);
    expect(await exit).toBe(0);
    expect(run.stops).toEqual([]);
    expect(run.hasAgentLeft()).toBe(true);
    await endRun(run, 0);
    expect(storedReport()).toBeNull();
    expect(orchestrator.calls.map(({ body }) => body['status'])).not.toContain('completed');
    expect(orchestrator.count('disconnect')).toBe(0);
  });

  it('returns false from handOver() when the worker has no job', async () => {
    const orchestrator = await startOrchestrator();
    const { agent, exit, connected } = startAgent(orchestrator);
    await connected();
    expect(agent.handOver()).toBe(false);
    agent.leave();
    expect(await exit).toBe(0);
    expect(orchestrator.count('disconnect')).toBe(1);
  });
});

it('sends no heartbeats while another machine uses its token, and keeps its job', async () => {
  const { orchestrator, run, logged, logLines, connected } = await startAgentWithJob();
  const { register } = orchestrator.answers;
  orchestrator.answers.register = () => duplicate;
  orchestrator.endStream();
  await advanceTimeUntil(logged('Another machine uses this worker'));
  const heartbeats = orchestrator.count('heartbeat');
  // The 26 registrations take two minutes, in which a heartbeat would be due several times.
  await advanceTimeUntil(orchestrator.nth('register', 26), 1_000);
  expect(orchestrator.count('heartbeat')).toBe(heartbeats);
  expect(logLines.filter(line => line.startsWith('Another machine'))).toHaveLength(1);
  expect(run.stops).toEqual([]);
  orchestrator.answers.register = register;
  await advanceTimeUntil(connected(2));
  await endRun(run, 0);
  await orchestrator.reported('completed');
});
