/**
 * Tests that the v1 agent reconnects and leaves as specified. Numbers in the titles refer to docs/internals/worker-contract.md, section 3.
 */
import { expect, test } from 'vitest';
import { createSubmission, useV1Bench } from '../../support/v1-bench.ts';
import { scriptedTrainer } from '../../support/v1-trainer.ts';

const bench = useV1Bench();

test('the v1 agent registers again at once and names its job when the stream ends cleanly (contract item 9)', async () => {
  const { events, waits, run } = await bench.startBusy();
  const from = events.mark();
  bench.server.answer('/register', { body: { worker_id: 'w_1', resume_job: { job_id: 'j1' } } });
  bench.server.endStream();
  await events.waitFor('registered', seen => seen.namedJob === 'j1' && seen.resumeJob === 'j1');
  await events.waitFor('streamOpen', () => true, from);
  expect(waits.held('reconnect')).toBe(0);
  expect(events.of('connectionLost')).toEqual([]);
  run.exit(0);
  await waits.release('poll');
  await events.waitFor('statusPosted', seen => seen.jobId === 'j1' && seen.status === 'completed');
});

test.each([
  ['a broken stream', null, {}],
  ['a refused stream', '/stream', { status: 503 }],
  ['a refused registration', '/register', { status: 403 }],
  ['a registration without worker_id', '/register', { body: {} }],
])('the v1 agent waits 10 s after %s (contract item 9)', async (_title, part, answer) => {
  const { events, waits } = await bench.start();
  if (part === null) bench.server.breakStream();
  else {
    bench.server.answer(part, answer);
    bench.server.endStream();
  }
  await events.waitFor('connectionLost');
  bench.server.answer('/register', { body: { worker_id: 'w_2' } });
  bench.server.answer('/stream', {});
  expect(await waits.release('reconnect')).toBe(10_000);
  await events.waitFor('streamOpen', seen => seen.workerId === 'w_2');
});

test('the v1 agent retries every 10 s while the server is down', async () => {
  await bench.server.close();
  const { events, waits } = bench.startOnly();
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
    const { events, run } = await bench.startBusy();
    bench.server.answer('/workers/', { status: 401 });
    bench.server.answer('/workers/register', registration);
    bench.server.endStream();
    expect(await events.waitFor('exited')).toEqual({ kind: 'exited', code: 0, cause: 'unauthorized' });
    expect(run.exitCode()).toBe(-15);
    expect(bench.statusesOf('j1').at(-1)).toBe('cancelled');
    expect(events.of('disconnectPosted')).toEqual([{ kind: 'disconnectPosted', answerStatus: 401 }]);
  },
);

test('the v1 agent stops the running job on abandon_job (contract item 9)', async () => {
  const { events, run } = await bench.startBusy();
  bench.server.answer('/register', { body: { worker_id: 'w_1', resume_job: null, abandon_job: 'j1' } });
  bench.server.endStream();
  await events.waitFor('registered', seen => seen.abandonJob === 'j1');
  await events.waitFor('statusPosted', seen => seen.jobId === 'j1' && seen.status === 'cancelled');
  expect(run.exitCode()).toBe(-15);
});

test('the v1 agent accepts a resume_job without a trainer until that job is cancelled (contract item 9)', async () => {
  bench.server.answer('/register', { body: { worker_id: 'w_1', resume_job: { job_id: 'old' } } });
  const { agent, events } = await bench.start();
  expect(agent.currentJob).toBe('old');
  bench.server.push(createSubmission('j1'));
  await events.waitFor('jobIgnored', seen => seen.heldJob === 'old');
  bench.server.push({ type: 'job_cancel', job_id: 'old' });
  await events.waitFor('jobCleared');
  expect(bench.statusesOf('old')).toEqual(['cancelled']);
});

test('the v1 agent closes the connection after every call except the stream', async () => {
  const { events } = await bench.start({ trainer: scriptedTrainer(), instant: ['poll'] });
  await events.waitFor('heartbeatSent');
  bench.server.push(createSubmission('j1'));
  await events.waitFor('jobCleared');
  const calls = bench.server.calls.filter(call => !call.name.includes('/stream'));
  await Promise.all(calls.map(call => call.closed));
  expect(calls).toHaveLength(5);
});

test('the v1 agent leaves at the next stream line when it is ephemeral and the queue is empty (contract item 11)', async () => {
  const trainer = scriptedTrainer();
  const { agent, events } = await bench.start({ persistent: false, trainer, instant: ['poll'] });
  bench.server.push(createSubmission('j1'));
  await events.waitFor('leaving', seen => seen.by === 'queue');
  expect(bench.server.named('/queue')[0]?.name).toBe('GET /api/workers/queue?worker_id=w_1');
  expect(agent.isLeaving).toBe(true);
  expect(bench.server.named('/disconnect')).toEqual([]);
  bench.server.write(': any line\n');
  expect(await events.waitFor('exited')).toEqual({ kind: 'exited', code: 0, cause: 'shutdown' });
  expect(bench.server.named('/disconnect').map(call => call.body)).toEqual([{ worker_id: 'w_1' }]);
});

test('the v1 agent stays when it is ephemeral and the queue has jobs (contract item 11)', async () => {
  bench.server.answer('/queue', { body: { has_jobs: true } });
  const trainer = scriptedTrainer();
  const { agent, events } = await bench.start({ persistent: false, trainer, instant: ['poll'] });
  bench.server.push(createSubmission('j1'));
  await events.waitFor('queueAsked', seen => seen.hasJobs);
  bench.server.push(createSubmission('j2'));
  await events.waitFor('jobStarted', seen => seen.job.jobId === 'j2');
  expect(agent.isLeaving).toBe(false);
});

test('the v1 agent leaves when it is ephemeral and its queue request is refused (contract item 11)', async () => {
  bench.server.answer('/queue', { status: 404, body: { has_jobs: true } });
  const { events } = await bench.start({ persistent: false, trainer: scriptedTrainer(), instant: ['poll'] });
  bench.server.push(createSubmission('j1'));
  await events.waitFor('leaving', seen => seen.by === 'queue');
});

test('the v1 agent does not request the queue after a job when it is persistent', async () => {
  const { agent, events } = await bench.start({ trainer: scriptedTrainer(), instant: ['poll'] });
  bench.server.push(createSubmission('j1'));
  await events.waitFor('jobCleared');
  bench.server.push(createSubmission('j2'));
  await events.waitFor('jobCleared', seen => seen.jobId === 'j2');
  expect(bench.server.named('/queue')).toEqual([]);
  expect(agent.isLeaving).toBe(false);
});

test('the v1 agent stops the job and exits at the next stream line on shutdown (contract item 11)', async () => {
  const { events, run, waits } = await bench.startBusy();
  await events.waitFor('heartbeatSent');
  bench.server.push({ type: 'shutdown', reason: 'drained' });
  expect(await events.waitFor('exited')).toEqual({ kind: 'exited', code: 0, cause: 'shutdown' });
  expect(events.of('leaving')).toEqual([{ kind: 'leaving', by: 'shutdown', reason: 'drained' }]);
  expect(run.exitCode()).toBe(-15);
  expect(bench.statusesOf('j1').at(-1)).toBe('cancelled');
  expect(bench.server.calls.at(-1)?.name).toBe('POST /api/workers/disconnect');
  expect(waits.held('heartbeat')).toBe(0);
});

test('the v1 agent stops the trainer, reports failed with -15 and leaves on SIGTERM (contract item 14)', async () => {
  const { agent, events, waits } = await bench.startBusy();
  const stopped = agent.stop();
  await waits.release('poll');
  const { error } = await events.waitFor('statusPosted', seen => seen.status === 'failed');
  expect(error).toBe('Training exited with code -15');
  await events.waitFor('jobCleared');
  expect(bench.server.named('/disconnect')).toEqual([]);
  bench.server.push({ type: 'ping' });
  await stopped;
  expect(bench.statusesOf('j1')).toEqual(['starting', 'training', 'failed']);
  expect(bench.server.named('/disconnect')).toHaveLength(1);
});

test('the v1 agent reacts to SIGTERM only when the silent trainer prints again (contract items 10, 14)', async () => {
  const { agent, events, manual } = await bench.start();
  bench.server.push(createSubmission('j1'));
  const run = await manual.run();
  await events.waitFor('trainerAwaited');
  const stopped = agent.stop();
  bench.server.push({ type: 'ping' });
  await events.waitFor('lineHeld');
  expect(run.signals).toEqual([]);
  run.print('step 1');
  await stopped;
  expect(run.signals).toEqual(['SIGTERM']);
});

test('the v1 agent leaves an orphan after kill -9 and names no job on the next start (contract item 12)', async () => {
  const { agent, events, run, waits } = await bench.startBusy();
  const from = events.mark();
  await waits.release('poll');
  await events.waitFor('trainerAwaited', () => true, from);
  const callsBefore = bench.server.calls.length;
  expect(agent.kill()).toBe(run);
  await bench.server.named('/stream')[0]?.closed;
  expect(events.seen.at(-1)).toEqual({ kind: 'exited', code: -9, cause: 'killed' });
  run.print('step 2');
  expect(run.exitCode()).toBeNull();
  await bench.start();
  expect(bench.server.calls[callsBefore]?.body).toMatchObject({ name: 'rig-1', current_job_id: null });
  expect(bench.statusesOf('j1')).toEqual(['starting', 'training']);
  const never = events.waitFor('jobCleared');
  await expect(never).rejects.toThrow('exited (-9, killed) without the awaited jobCleared');
});

test('the v1 agent opens no connection after it is killed', async () => {
  const { agent, events } = bench.startOnly();
  await events.waitFor('registered');
  agent.kill();
  await bench.start();
  expect(bench.server.named('/stream')).toHaveLength(1);
});

test('the v1 agent waits in real time by default', async () => {
  const { events } = await bench.start({ trainer: scriptedTrainer({ lines: ['step 1'] }), wait: undefined });
  bench.server.push(createSubmission('j1'));
  await events.waitFor('statusPosted', seen => seen.status === 'completed');
});
