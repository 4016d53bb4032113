/**
 * Tests the events that the v1 agent loses or confuses. The contract items in the titles are in
 * docs/internals/worker-contract.md, section 3.
 */
import { expect, test } from 'vitest';
import { createSubmission, reports, useV1Fixture } from '../../support/v1-bench.ts';
import { manualTrainer, scriptedTrainer } from '../../support/v1-trainer.ts';

const fixture = useV1Fixture();

test('the v1 agent drops a job that arrives before the response to the terminal report (contract item 4)', async () => {
  const { events, manual } = await fixture.start({ instant: ['poll'] });
  const report = fixture.server.hold('/job/j1/status', reports('completed'));
  fixture.server.push(createSubmission('j1'));
  (await manual.run()).exit(0);
  await report.arrived;
  fixture.server.push(createSubmission('j2'));
  await events.waitFor('jobDropped', event => event.jobId === 'j2' && event.heldJob === 'j1');
  report.answer();
  await events.waitFor('jobCleared');
  fixture.server.push(createSubmission('j2')); // The orchestrator repeats the offer.
  await events.waitFor('jobStarted', event => event.job.jobId === 'j2');
});

test('the v1 agent drops a job after the response to the terminal report until the old job ends (contract item 4)', async () => {
  const clear = Promise.withResolvers<void>();
  const beforeClear = () => clear.promise;
  const { events } = await fixture.start({ trainer: scriptedTrainer(), instant: ['poll'], beforeClear });
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('statusPosted', event => event.status === 'completed' && event.answerStatus === 200);
  fixture.server.push(createSubmission('j2'));
  await events.waitFor('jobDropped');
  clear.resolve();
  await events.waitFor('jobCleared');
  expect(fixture.statusesOf('j2')).toEqual([]);
});

test('the v1 agent stops the running job on a cancel with any job id (contract item 6)', async () => {
  const { events, run, waits } = await fixture.startBusy();
  fixture.server.push({ type: 'job_cancel', job_id: 'another' });
  await events.waitFor('jobCleared', event => event.jobId === 'j1' && event.by === 'stop');
  expect(run.signals).toEqual(['SIGTERM']);
  await waits.release('poll');
  await events.waitFor('jobCleared', event => event.by === 'watcher');
  expect(fixture.statusesOf('j1')).toEqual(['starting', 'training', 'cancelled']);
});

test('the v1 agent reports `failed` after `cancelled` for the same job (contract item 7)', async () => {
  const { events, waits } = await fixture.startBusy();
  const cancelled = fixture.server.hold('/job/j1/status', reports('cancelled'));
  fixture.server.push({ type: 'job_cancel' });
  await cancelled.arrived;
  await waits.release('poll');
  const failed = await events.waitFor('statusPosted', event => event.status === 'failed');
  expect(failed).toMatchObject({ jobId: 'j1', error: 'Training exited with code -15' });
  cancelled.answer();
  await events.waitFor('jobCleared', event => event.by === 'stop');
  expect(fixture.statusesOf('j1').slice(2)).toEqual(['cancelled', 'failed']);
});

test('the v1 agent reports a job that follows a cancel as failed, and then cannot stop this job (contract item 7)', async () => {
  const { agent, events, manual, waits } = await fixture.startBusy();
  fixture.server.push({ type: 'job_cancel' });
  await events.waitFor('jobCleared');
  fixture.server.push(createSubmission('j2'));
  const second = await manual.run(1);
  second.print('step 1');
  await events.waitFor('trainerLine', event => event.jobId === 'j2');
  await waits.release('poll'); // Continues the watcher of the first trainer.
  await events.waitFor('jobCleared', event => event.by === 'watcher');
  expect(events.of('statusPosted').at(-1)).toMatchObject({
    jobId: 'j2',
    status: 'failed',
    error: 'Training exited with code -15',
  });
  expect(second.exitCode()).toBeNull();
  expect(agent.currentJob).toBeNull();

  fixture.server.push({ type: 'job_cancel', job_id: 'j2' });
  await events.waitFor('jobCleared', event => event.jobId === null);
  expect(second.signals).toEqual([]);

  fixture.server.push(createSubmission('j3')); // Now two trainers run. The agent reports the outcome of j2 for j3.
  await manual.run(2);
  await events.waitFor('statusPosted', event => event.jobId === 'j3' && event.status === 'training');
  (await manual.run(2)).print('step 1');
  second.exit(0);
  await waits.release('poll');
  await events.waitFor('jobCleared', event => event.jobId === 'j3');
  expect(fixture.statusesOf('j2')).toEqual(['starting', 'training', 'failed']);
  expect(fixture.statusesOf('j3')).toEqual(['starting', 'training', 'completed']);
});

test('the v1 agent starts a job during a late `failed` report, but never reports the end of this job', async () => {
  const { agent, events, manual, waits } = await fixture.startBusy();
  const cancelled = fixture.server.hold('/job/j1/status', reports('cancelled'));
  const failed = fixture.server.hold('/job/j1/status', reports('failed'));
  fixture.server.push({ type: 'job_cancel' });
  await cancelled.arrived;
  await waits.release('poll');
  await failed.arrived;
  cancelled.answer();
  await events.waitFor('jobCleared', event => event.by === 'stop');
  fixture.server.push(createSubmission('j2'));
  const second = await manual.run(1);
  await events.waitFor('statusPosted', event => event.jobId === 'j2' && event.status === 'training');
  second.print('step 1');
  await events.waitFor('trainerLine', event => event.jobId === 'j2');
  failed.answer();
  await events.waitFor('jobCleared', event => event.jobId === 'j2' && event.by === 'watcher');
  expect(agent.currentJob).toBeNull();
  second.exit(0);
  await waits.release('poll');
  await events.waitFor('jobCleared', event => event.jobId === null);
  expect(fixture.statusesOf('j2')).toEqual(['starting', 'training']);
});

test('the v1 agent kills a trainer 30 s after an ignored SIGTERM, and handles no stream lines until then', async () => {
  const { trainer, run } = manualTrainer({ onTerm: 'ignore' });
  const { events, waits } = await fixture.start({ trainer });
  fixture.server.push(createSubmission('j1'));
  (await run()).print('step 1');
  await events.waitFor('trainerLine');
  fixture.server.push({ type: 'job_cancel' });
  await events.waitFor('lineReceived', line => line.event['type'] === 'job_cancel');
  fixture.server.push({ type: 'ping' });
  await events.waitFor('lineHeld');
  expect(await waits.release('grace')).toBe(30_000);
  await events.waitFor('lineReceived', line => line.event['type'] === 'ping');
  expect((await run()).signals).toEqual(['SIGTERM', 'SIGKILL']);
});

test('the v1 agent sends no heartbeats and handles no cancel while its trainer prints nothing (contract item 10)', async () => {
  const { events, manual, waits } = await fixture.start();
  await events.waitFor('heartbeatSent');
  fixture.server.push(createSubmission('j1'));
  const run = await manual.run();
  await events.waitFor('trainerAwaited');
  await waits.release('heartbeat');
  fixture.server.push({ type: 'ping' });
  await events.waitFor('lineHeld', event => event.text.includes('ping'));
  expect(fixture.server.named('/heartbeat')).toHaveLength(1);
  expect(events.of('lineReceived').map(line => line.event['type'])).toEqual(['job_submit']);

  const from = events.mark();
  run.print('step 1');
  const heartbeat = await events.waitFor('heartbeatSent', event => event.currentJobId === 'j1');
  expect(heartbeat.status).toBe('busy');
  await events.waitFor('lineReceived', line => line.event['type'] === 'ping');

  await waits.release('poll');
  await events.waitFor('trainerAwaited', () => true, from);
  fixture.server.push({ type: 'job_cancel' });
  await events.waitFor('lineHeld', event => event.text.includes('job_cancel'));
  expect(run.signals).toEqual([]);
  run.print('step 2');
  await events.waitFor('statusPosted', event => event.status === 'cancelled');
});

test('the v1 agent ignores the responses to heartbeats and status posts, even a 401 (contract items 8, 11)', async () => {
  fixture.server.answer('/heartbeat', { status: 401, body: { cancel: 'j1', abandon_job: 'j1' } });
  fixture.server.answer('/status', { status: 409, body: { action: 'stop' } });
  const { events } = await fixture.start({
    trainer: scriptedTrainer({ lines: ['step 1'] }),
    instant: ['poll'],
  });
  await events.waitFor('heartbeatSent', event => event.answerStatus === 401);
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('statusPosted', event => event.status === 'completed' && event.answerStatus === 409);
  await events.waitFor('jobCleared');
  expect(events.of('connectionLost')).toEqual([]);
});

test('the v1 agent does not repeat a terminal report that got no response (contract item 8)', async () => {
  const { events } = await fixture.start({ trainer: scriptedTrainer(), instant: ['poll'] });
  const report = fixture.server.hold('/job/j1/status', reports('completed'));
  fixture.server.push(createSubmission('j1'));
  await report.arrived;
  await fixture.server.close();
  await events.waitFor('statusPosted', event => event.status === 'completed' && event.answerStatus === null);
  await events.waitFor('jobCleared');
});
