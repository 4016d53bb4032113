import { describe, expect, it } from 'vitest';
import {
  nextHeartbeat,
  type AgentWithJob,
  useFakeTimers,
  advanceTime,
  advanceTimeUntil,
  startAgentWithJob,
} from '../agent-fixture.ts';
import { attemptId, jobId, offerOf } from '../builders.ts';
import { type ControlledRun, newest, flushCallbacks } from '../controlled-runs.ts';
import {
  heartbeatReply,
  refused,
  registerReply,
  type ScriptedOrchestrator,
} from '../scripted-orchestrator.ts';

useFakeTimers();

const attemptFields = (id: string, attempt: string) => ({
  job_id: jobId(id),
  attempt_id: attemptId(attempt),
});

/** Expects that the agent stops this run. Then ends the run, as a trainer does after SIGTERM. */
async function expectStop(run: ControlledRun): Promise<void> {
  const stopped = (async () => {
    while (run.stops.length === 0) await flushCallbacks();
  })();
  await advanceTimeUntil(stopped);
  expect(run.stops).toEqual([20_000]);
  run.end(null, 'SIGTERM');
}

/** Expects that the agent accepts another job, which shows that it has finished its first job. */
async function expectNextJob({ orchestrator, started }: AgentWithJob): Promise<void> {
  orchestrator.push(offerOf('j9', 'z1'));
  await advanceTimeUntil(started(2));
}

const reportedStatuses = ({ calls }: ScriptedOrchestrator, attempt: string): readonly unknown[] =>
  calls
    .filter(({ name, body }) => name === 'status' && body['attempt_id'] === attempt)
    .map(({ body }) => body['status']);

/** The replies that repeat an order, in case the worker's stream has lost the order. */
const deliveries: Readonly<Record<string, (fixture: AgentWithJob, order: object) => Promise<unknown>>> = {
  'the reply to a heartbeat': async ({ orchestrator }, order) => {
    orchestrator.answers.heartbeat = () => heartbeatReply(order);
    await nextHeartbeat(orchestrator);
  },
  'the reply to a registration': async ({ orchestrator, connected }, order) => {
    orchestrator.answers.register = () => registerReply(order);
    orchestrator.endStream();
    await advanceTimeUntil(connected(2));
  },
};

describe('cancels', () => {
  it('stops a job that is cancelled through the stream, and reports it as cancelled', async () => {
    const fixture = await startAgentWithJob();
    const { orchestrator, run } = fixture;
    orchestrator.push({ type: 'job_cancel', ...attemptFields('j1', 'a1') });
    await expectStop(run);
    expect((await orchestrator.reported('cancelled')).body).toMatchObject({
      attempt_id: 'a1',
      signal: 'SIGTERM',
    });
    await expectNextJob(fixture);
  });

  it.each(Object.keys(deliveries))('stops a job that is cancelled in %s', async delivery => {
    const fixture = await startAgentWithJob();
    await deliveries[delivery]!(fixture, { cancel: attemptFields('j1', 'a1') });
    await expectStop(fixture.run);
    await fixture.orchestrator.reported('cancelled');
    await expectNextJob(fixture);
  });

  it('stops a job only once when its cancel is repeated', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    orchestrator.answers.heartbeat = () => heartbeatReply({ cancel: attemptFields('j1', 'a1') });
    for (let n = 0; n < 3; n += 1) await nextHeartbeat(orchestrator);
    await nextHeartbeat(orchestrator);
    expect(run.stops).toEqual([20_000]);
  });

  it('ignores a cancel of another attempt of the same job', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    orchestrator.push({ type: 'job_cancel', ...attemptFields('j1', 'a0') });
    orchestrator.answers.heartbeat = () => heartbeatReply({ cancel: attemptFields('j1', 'a0') });
    for (let n = 0; n < 2; n += 1) await nextHeartbeat(orchestrator);
    expect(run.stops).toEqual([]);
  });
});

describe('abandoned jobs', () => {
  it.each(Object.keys(deliveries))(
    'stops a job that is abandoned in %s, and sends no report',
    async delivery => {
      const fixture = await startAgentWithJob();
      const { orchestrator, run } = fixture;
      await deliveries[delivery]!(fixture, { abandon_job: 'j1' });
      await expectStop(run);
      await expectNextJob(fixture);
      expect(reportedStatuses(orchestrator, 'a1').filter(status => status !== 'running')).toEqual([
        'starting',
      ]);
      expect(fixture.storedReport()).toBeNull();
    },
  );

  it('stops a job that is abandoned in the response to a progress report', async () => {
    const fixture = await startAgentWithJob();
    const { orchestrator, run } = fixture;
    orchestrator.answers.status = ({ body }) =>
      body['attempt_id'] === 'a1' ? refused(409, 'stop') : { status: 200, body: { success: true } };
    run.listeners.onProgress({ step: 7 });
    await expectStop(run);
    await expectNextJob(fixture);
    expect(reportedStatuses(orchestrator, 'a1')).not.toContain('failed');
  });

  it('keeps its job when another job is abandoned', async () => {
    const { orchestrator, run } = await startAgentWithJob();
    orchestrator.answers.heartbeat = () => heartbeatReply({ abandon_job: 'j0' });
    for (let n = 0; n < 2; n += 1) await nextHeartbeat(orchestrator);
    expect(run.stops).toEqual([]);
  });

  it('keeps a newer attempt when the late response to an earlier heartbeat abandons the job', async () => {
    const { orchestrator, run, started } = await startAgentWithJob();
    const late = Promise.withResolvers<ReturnType<typeof heartbeatReply>>();
    orchestrator.answers.heartbeat = () => late.promise;
    const next = orchestrator.count('heartbeat') + 1;
    await advanceTime(30_000);
    await orchestrator.arrived('heartbeat', next);
    run.end(1);
    await orchestrator.reported('failed');
    orchestrator.push(offerOf('j1', 'a2'));
    const second = await started(2);
    orchestrator.answers.heartbeat = () => heartbeatReply();
    late.resolve(heartbeatReply({ abandon_job: 'j1' }));
    await orchestrator.nth('heartbeat', next);
    for (let n = 0; n < 2; n += 1) await nextHeartbeat(orchestrator);
    expect(newest(orchestrator.calls.filter(({ name }) => name === 'heartbeat')).body).toMatchObject({
      attempt_id: 'a2',
    });
    expect(second.stops).toEqual([]);
  });
});
