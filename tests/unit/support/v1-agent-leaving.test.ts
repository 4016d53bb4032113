/**
 * Tests that the v1 agent reconnects and leaves as specified. The contract items in the titles are in
 * docs/internals/worker-contract.md, section 3.
 */
import { expect, test } from 'vitest';
import { createSubmission, useV1Fixture } from '../../support/v1-bench.ts';
import { scriptedTrainer } from '../../support/v1-trainer.ts';

const fixture = useV1Fixture();

test('the v1 agent registers again and names its job immediately after the stream ended cleanly (contract item 9)', async () => {
  const { events, waits, run } = await fixture.startBusy();
  const from = events.mark();
  fixture.server.answer('/register', { body: { worker_id: 'w_1', resume_job: { job_id: 'j1' } } });
  fixture.server.endStream();
  await events.waitFor('registered', event => event.namedJob === 'j1' && event.resumeJob === 'j1');
  await events.waitFor('streamOpen', () => true, from);
  expect(waits.held('reconnect')).toBe(0);
  expect(events.of('connectionLost')).toEqual([]);
  run.exit(0);
  await waits.release('poll');
  await events.waitFor('statusPosted', event => event.jobId === 'j1' && event.status === 'completed');
});

test.each([
  ['a broken stream', null, {}],
  ['a refused stream', '/stream', { status: 503 }],
  ['a refused registration', '/register', { status: 403 }],
  ['a registration without worker_id', '/register', { body: {} }],
])('the v1 agent waits 10 s after %s (contract item 9)', async (_title, path, answer) => {
  const { events, waits } = await fixture.start();
  if (path === null) fixture.server.breakStream();
  else {
    fixture.server.answer(path, answer);
    fixture.server.endStream();
  }
  await events.waitFor('connectionLost');
  fixture.server.answer('/register', { body: { worker_id: 'w_2' } });
  fixture.server.answer('/stream', {});
  expect(await waits.release('reconnect')).toBe(10_000);
  await events.waitFor('streamOpen', event => event.workerId === 'w_2');
});

test('the v1 agent retries every 10 s while the server is down', async () => {
  await fixture.server.close();
  const { events, waits } = fixture.startOnly();
  expect(await waits.release('reconnect')).toBe(10_000);
  expect(await waits.release('reconnect')).toBe(10_000);
  expect(events.of('connectionLost')).toMatchObject([{ status: null }, { status: null }]);
});

test.each([
  ['registration', { status: 401 }],
  ['stream', { body: { worker_id: 'w_1' } }],
])(
  'the v1 agent stops its training, disconnects and exits on a 401 at the %s (contract item 11)',
  async (_where, registration) => {
    const { events, run } = await fixture.startBusy();
    fixture.server.answer('/workers/', { status: 401 });
    fixture.server.answer('/workers/register', registration);
    fixture.server.endStream();
    expect(await events.waitFor('exited')).toEqual({ kind: 'exited', code: 0, cause: 'unauthorized' });
    expect(run.exitCode()).toBe(-15);
    expect(fixture.statusesOf('j1').at(-1)).toBe('cancelled');
    expect(events.of('disconnectPosted')).toEqual([{ kind: 'disconnectPosted', answerStatus: 401 }]);
  },
);

test('the v1 agent stops the running job on abandon_job (contract item 9)', async () => {
  const { events, run } = await fixture.startBusy();
  fixture.server.answer('/register', { body: { worker_id: 'w_1', resume_job: null, abandon_job: 'j1' } });
  fixture.server.endStream();
  await events.waitFor('registered', event => event.abandonJob === 'j1');
  await events.waitFor('statusPosted', event => event.jobId === 'j1' && event.status === 'cancelled');
  expect(run.exitCode()).toBe(-15);
});

test('the v1 agent keeps a resume_job without a trainer as its job until the job is cancelled (contract item 9)', async () => {
  fixture.server.answer('/register', { body: { worker_id: 'w_1', resume_job: { job_id: 'old' } } });
  const { agent, events } = await fixture.start();
  expect(agent.currentJob).toBe('old');
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('jobIgnored', event => event.heldJob === 'old');
  fixture.server.push({ type: 'job_cancel', job_id: 'old' });
  await events.waitFor('jobCleared');
  expect(fixture.statusesOf('old')).toEqual(['cancelled']);
});

test('the v1 agent closes the connection after every call except the stream', async () => {
  const { events } = await fixture.start({ trainer: scriptedTrainer(), instant: ['poll'] });
  await events.waitFor('heartbeatSent');
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('jobCleared');
  const calls = fixture.server.calls.filter(call => !call.name.includes('/stream'));
  await Promise.all(calls.map(call => call.closed));
  expect(calls).toHaveLength(5);
});

test('the ephemeral v1 agent leaves after its job at the next stream line if the queue is empty (contract item 11)', async () => {
  const trainer = scriptedTrainer();
  const { agent, events } = await fixture.start({ persistent: false, trainer, instant: ['poll'] });
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('leaving', event => event.by === 'queue');
  expect(fixture.server.named('/queue')[0]?.name).toBe('GET /api/workers/queue?worker_id=w_1');
  expect(agent.isLeaving).toBe(true);
  expect(fixture.server.named('/disconnect')).toEqual([]);
  fixture.server.write(': any line\n');
  expect(await events.waitFor('exited')).toEqual({ kind: 'exited', code: 0, cause: 'shutdown' });
  expect(fixture.server.named('/disconnect').map(call => call.body)).toEqual([{ worker_id: 'w_1' }]);
});

test('the ephemeral v1 agent stays after its job when the queue has jobs (contract item 11)', async () => {
  fixture.server.answer('/queue', { body: { has_jobs: true } });
  const trainer = scriptedTrainer();
  const { agent, events } = await fixture.start({ persistent: false, trainer, instant: ['poll'] });
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('queueAsked', event => event.hasJobs);
  fixture.server.push(createSubmission('j2'));
  await events.waitFor('jobStarted', event => event.job.jobId === 'j2');
  expect(agent.isLeaving).toBe(false);
});

test('the ephemeral v1 agent leaves after its job when its queue request is refused (contract item 11)', async () => {
  fixture.server.answer('/queue', { status: 404, body: { has_jobs: true } });
  const { events } = await fixture.start({
    persistent: false,
    trainer: scriptedTrainer(),
    instant: ['poll'],
  });
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('leaving', event => event.by === 'queue');
});

test('the persistent v1 agent does not request the queue after a job', async () => {
  const { agent, events } = await fixture.start({ trainer: scriptedTrainer(), instant: ['poll'] });
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('jobCleared');
  fixture.server.push(createSubmission('j2'));
  await events.waitFor('jobCleared', event => event.jobId === 'j2');
  expect(fixture.server.named('/queue')).toEqual([]);
  expect(agent.isLeaving).toBe(false);
});

test('the v1 agent stops the job and exits at the next stream line on shutdown (contract item 11)', async () => {
  const { events, run, waits } = await fixture.startBusy();
  await events.waitFor('heartbeatSent');
  fixture.server.push({ type: 'shutdown', reason: 'drained' });
  expect(await events.waitFor('exited')).toEqual({ kind: 'exited', code: 0, cause: 'shutdown' });
  expect(events.of('leaving')).toEqual([{ kind: 'leaving', by: 'shutdown', reason: 'drained' }]);
  expect(run.exitCode()).toBe(-15);
  expect(fixture.statusesOf('j1').at(-1)).toBe('cancelled');
  expect(fixture.server.calls.at(-1)?.name).toBe('POST /api/workers/disconnect');
  expect(waits.held('heartbeat')).toBe(0);
});

test('the v1 agent stops the trainer, reports failed with -15 and leaves on SIGTERM (contract item 14)', async () => {
  const { agent, events, waits } = await fixture.startBusy();
  const stopped = agent.stop();
  await waits.release('poll');
  const { error } = await events.waitFor('statusPosted', event => event.status === 'failed');
  expect(error).toBe('Training exited with code -15');
  await events.waitFor('jobCleared');
  expect(fixture.server.named('/disconnect')).toEqual([]);
  fixture.server.push({ type: 'ping' });
  await stopped;
  expect(fixture.statusesOf('j1')).toEqual(['starting', 'training', 'failed']);
  expect(fixture.server.named('/disconnect')).toHaveLength(1);
});

test('the v1 agent reacts to SIGTERM only when the silent trainer prints again (contract items 10, 14)', async () => {
  const { agent, events, manual } = await fixture.start();
  fixture.server.push(createSubmission('j1'));
  const run = await manual.run();
  await events.waitFor('trainerAwaited');
  const stopped = agent.stop();
  fixture.server.push({ type: 'ping' });
  await events.waitFor('lineHeld');
  expect(run.signals).toEqual([]);
  run.print('step 1');
  await stopped;
  expect(run.signals).toEqual(['SIGTERM']);
});

test('the v1 agent leaves its trainer running after kill -9 and names no job at the next start (contract item 12)', async () => {
  const { agent, events, run, waits } = await fixture.startBusy();
  const from = events.mark();
  await waits.release('poll');
  await events.waitFor('trainerAwaited', () => true, from);
  const callsBefore = fixture.server.calls.length;
  expect(agent.kill()).toBe(run);
  await fixture.server.named('/stream')[0]?.closed;
  expect(events.seen.at(-1)).toEqual({ kind: 'exited', code: -9, cause: 'killed' });
  run.print('step 2');
  expect(run.exitCode()).toBeNull();
  await fixture.start();
  expect(fixture.server.calls[callsBefore]?.body).toMatchObject({ name: 'rig-1', current_job_id: null });
  expect(fixture.statusesOf('j1')).toEqual(['starting', 'training']);
  const notCleared = events.waitFor('jobCleared');
  await expect(notCleared).rejects.toThrow('exited (-9, killed) without the awaited jobCleared');
});

test('the v1 agent opens no connection after it is killed', async () => {
  const { agent, events } = fixture.startOnly();
  await events.waitFor('registered');
  agent.kill();
  await fixture.start();
  expect(fixture.server.named('/stream')).toHaveLength(1);
});

test('the v1 agent waits in real time by default', async () => {
  const { events } = await fixture.start({
    trainer: scriptedTrainer({ lines: ['step 1'] }),
    wait: undefined,
  });
  fixture.server.push(createSubmission('j1'));
  await events.waitFor('statusPosted', event => event.status === 'completed');
});
