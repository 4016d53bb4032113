import { describe, expect, it } from 'vitest';
import { beat, type Busy, holdTime, pass, passUntil, startBusy } from '../agent-bench.ts';
import { attemptId, jobId, offerOf } from '../builders.ts';
import { type HeldRun, newest, turn } from '../held-runs.ts';
import { beatReply, refused, registerReply, type ScriptedOrchestrator } from '../scripted-orchestrator.ts';

holdTime();

const order = (id: string, attempt: string) => ({ job_id: jobId(id), attempt_id: attemptId(attempt) });

/** Waits for the stop of a run and ends the run like a trainer that obeys. */
async function expectStop(run: HeldRun): Promise<void> {
  const stopped = (async () => {
    while (run.stops.length === 0) await turn();
  })();
  await passUntil(stopped);
  expect(run.stops).toEqual([20_000]);
  run.end(null, 'SIGTERM');
}

/** Expects that the agent accepts the next job, so its slot is free and the last job fully reported. */
async function takesNext({ orchestrator, started }: Busy): Promise<void> {
  orchestrator.push(offerOf('j9', 'z1'));
  await passUntil(started(2));
}

const words = ({ calls }: ScriptedOrchestrator, attempt: string): readonly unknown[] =>
  calls
    .filter(({ name, body }) => name === 'status' && body['attempt_id'] === attempt)
    .map(({ body }) => body['status']);

/** The ways an order reaches a worker: the stream, and responses in case the stream lost it. */
const ways: Readonly<Record<string, (bench: Busy, parts: object) => Promise<unknown>>> = {
  'the reply to a beat': async ({ orchestrator }, parts) => {
    orchestrator.answers.heartbeat = () => beatReply(parts);
    await beat(orchestrator);
  },
  'the reply to a registration': async ({ orchestrator, connected }, parts) => {
    orchestrator.answers.register = () => registerReply(parts);
    orchestrator.endStream();
    await passUntil(connected(2));
  },
};

describe('cancels', () => {
  it('stops a job that is cancelled through the stream, and reports it as cancelled', async () => {
    const bench = await startBusy();
    const { orchestrator, run } = bench;
    orchestrator.push({ type: 'job_cancel', ...order('j1', 'a1') });
    await expectStop(run);
    expect((await orchestrator.reported('cancelled')).body).toMatchObject({
      attempt_id: 'a1',
      signal: 'SIGTERM',
    });
    await takesNext(bench);
  });

  it.each(Object.keys(ways))('stops a job that is cancelled by %s', async way => {
    const bench = await startBusy();
    await ways[way]!(bench, { cancel: order('j1', 'a1') });
    await expectStop(bench.run);
    await bench.orchestrator.reported('cancelled');
    await takesNext(bench);
  });

  it('stops a job once when its cancel is repeated', async () => {
    const { orchestrator, run } = await startBusy();
    orchestrator.answers.heartbeat = () => beatReply({ cancel: order('j1', 'a1') });
    for (let n = 0; n < 3; n += 1) await beat(orchestrator);
    await beat(orchestrator);
    expect(run.stops).toEqual([20_000]);
  });

  it('ignores a cancel of another attempt of the same job', async () => {
    const { orchestrator, run } = await startBusy();
    orchestrator.push({ type: 'job_cancel', ...order('j1', 'a0') });
    orchestrator.answers.heartbeat = () => beatReply({ cancel: order('j1', 'a0') });
    for (let n = 0; n < 2; n += 1) await beat(orchestrator);
    expect(run.stops).toEqual([]);
  });
});

describe('abandoned jobs', () => {
  it.each(Object.keys(ways))('stops a job that is abandoned by %s, without a report', async way => {
    const bench = await startBusy();
    const { orchestrator, run } = bench;
    await ways[way]!(bench, { abandon_job: 'j1' });
    await expectStop(run);
    await takesNext(bench);
    expect(words(orchestrator, 'a1').filter(word => word !== 'running')).toEqual(['starting']);
    expect(bench.keptReport()).toBeNull();
  });

  it('stops a job that is abandoned in the response to a progress report', async () => {
    const bench = await startBusy();
    const { orchestrator, run } = bench;
    orchestrator.answers.status = ({ body }) =>
      body['attempt_id'] === 'a1' ? refused(409, 'stop') : { status: 200, body: { success: true } };
    run.ears.onProgress({ step: 7 });
    await expectStop(run);
    await takesNext(bench);
    expect(words(orchestrator, 'a1')).not.toContain('failed');
  });

  it('keeps its job when another job is abandoned', async () => {
    const { orchestrator, run } = await startBusy();
    orchestrator.answers.heartbeat = () => beatReply({ abandon_job: 'j0' });
    for (let n = 0; n < 2; n += 1) await beat(orchestrator);
    expect(run.stops).toEqual([]);
  });

  it('ignores an abandoned attempt in a late heartbeat response', async () => {
    const { orchestrator, run, started } = await startBusy();
    const late = Promise.withResolvers<ReturnType<typeof beatReply>>();
    orchestrator.answers.heartbeat = () => late.promise;
    const next = orchestrator.count('heartbeat') + 1;
    await pass(30_000);
    await orchestrator.arrived('heartbeat', next);
    run.end(1);
    await orchestrator.reported('failed');
    orchestrator.push(offerOf('j1', 'a2'));
    const second = await started(2);
    orchestrator.answers.heartbeat = () => beatReply();
    late.resolve(beatReply({ abandon_job: 'j1' }));
    await orchestrator.nth('heartbeat', next);
    for (let n = 0; n < 2; n += 1) await beat(orchestrator);
    expect(newest(orchestrator.calls.filter(({ name }) => name === 'heartbeat')).body).toMatchObject({
      attempt_id: 'a2',
    });
    expect(second.stops).toEqual([]);
  });
});
