/**
 * Tests registration, stream and jobs of the v1 agent. The contract items in the titles are in
 * docs/internals/worker-contract.md, section 3.
 */
import os from 'node:os';
import { expect, test } from 'vitest';
import { createSubmission, useV1Fixture } from '../../support/v1-bench.ts';
import { createLineSplitter } from '../../support/v1-http.ts';
import { scriptedTrainer } from '../../support/v1-trainer.ts';

const fixture = useV1Fixture();

test('the v1 agent registers with exactly the fields of the published agent (contract item 13)', async () => {
  await fixture.start({ name: undefined });
  const [call] = fixture.server.named('/register');
  expect(call?.headers['x-worker-token']).toBe('wt_secret');
  expect(call?.body).toEqual({
    name: os.hostname(),
    gpu_info: { name: 'NVIDIA A100-SXM4-80GB', vram_gb: 85.1, count: 1, driver: '12.4', accelerator: 'cuda' },
    persistent: true,
    current_job_id: null,
  });
});

test('the v1 agent registers with the given GPU info and provider, and reads a compressed response', async () => {
  const gpuInfo = { name: 'Unknown', vram_gb: null, count: 0, accelerator: null };
  fixture.server.answer('/register', { body: { worker_id: 'w_zip' }, isCompressed: true });
  const { events } = await fixture.start({ gpuInfo, provider: 'vast', persistent: false });
  expect(events.of('registered')[0]?.workerId).toBe('w_zip');
  expect(fixture.registrations()).toEqual([
    { name: 'rig-1', gpu_info: gpuInfo, persistent: false, provider: 'vast', current_job_id: null },
  ]);
});

test('the v1 agent opens the stream with its token and sends heartbeats immediately and every 30 s', async () => {
  const { events, waits } = await fixture.start();
  const [stream] = fixture.server.named('/stream');
  expect(stream?.name).toBe('GET /api/workers/stream?worker_id=w_1');
  expect(stream?.headers['x-worker-token']).toBe('wt_secret');
  expect(await waits.release('heartbeat')).toBe(30_000);
  await events.waitFor('heartbeatSent', () => events.of('heartbeatSent').length === 2);
  expect(fixture.server.named('/heartbeat').map(call => call.body)).toEqual([
    { worker_id: 'w_1', status: 'idle', current_job_id: null },
    { worker_id: 'w_1', status: 'idle', current_job_id: null },
  ]);
});

test('the v1 agent exits with a usage error for a token argument that begins with - (contract item 13)', async () => {
  const exit = await fixture.startOnly({ token: '-abc' }).events.waitFor('exited');
  expect(exit).toEqual({ kind: 'exited', code: 2, cause: 'usage' });
  await fixture.start({ token: '-abc', tokenFrom: 'environment' });
});

test.each([
  [
    'all line separators',
    ['a\nb\rc\r\nd\ve\ff\x1cg\x1dh\x1ei\x85j\u2028k\u2029l'],
    'a b c d e f g h i j k l'.split(' '),
  ],
  ['a CRLF split between two pieces', ['a\r', '\nb\n'], ['a', 'b']],
  ['a CR at the end of a piece', ['a\r', 'b\n'], ['a', 'b']],
  ['blank lines', ['a\n\n', '\n'], ['a', '', '']],
  ['a line in pieces', ['a', '', 'b', 'c\nd'], ['abc', 'd']],
  ['a CR at the end of the text', ['a\n\r'], ['a', '']],
])('the v1 agent splits text into lines as Python does for %s (contract item 1)', (_title, pieces, lines) => {
  const splitter = createLineSplitter();
  expect([...pieces.flatMap(piece => splitter.push(piece)), ...splitter.flush()]).toEqual(lines);
});

test('the v1 agent handles only `data: ` lines with one JSON object each (contract item 1)', async () => {
  const { events } = await fixture.start();
  fixture.server.write(
    ': comment\nid: 7\nevent: drain\ndata:{"type":"shutdown"}\ndata: {"type":"drain"}\n\n',
  );
  fixture.server.write('data: {"type":\n');
  fixture.server.push({ type: 'ping' });
  await events.waitFor('lineReceived', line => line.event['type'] === 'ping');
  expect(events.of('lineReceived').map(line => line.event['type'])).toEqual(['drain', 'ping']);
  expect(events.of('lineUnreadable')).toEqual([{ kind: 'lineUnreadable', text: 'data: {"type":' }]);
});

test.each(['\u0085', '\u2028', '\u2029'])(
  'the v1 agent loses a job with a raw %j, but not with this character escaped (contract item 1)',
  async end => {
    const { events } = await fixture.start();
    const config = { caption: `a${end}b` };
    fixture.server.push(createSubmission('raw', { config }));
    const hex = end.charCodeAt(0).toString(16).padStart(4, '0');
    const escaped = JSON.stringify(createSubmission('escaped', { config })).replace(end, `\\u${hex}`);
    fixture.server.write(`data: ${escaped}\n\n`);
    const { job } = await events.waitFor('jobStarted');
    expect(job).toMatchObject({ jobId: 'escaped', config });
    expect(events.of('lineUnreadable')).toHaveLength(1);
  },
);

test('the v1 agent decodes a character in two chunks and a last line without a line end (contract item 1)', async () => {
  const { events } = await fixture.start();
  const bytes = Buffer.from('data: {"type":"ping","note":"\u00fc"}');
  const middle = bytes.indexOf(0xc3) + 1;
  fixture.server.write('data: {"type":"ping"}\n');
  fixture.server.write(bytes.subarray(0, middle));
  await events.waitFor('lineReceived');
  fixture.server.write(bytes.subarray(middle));
  fixture.server.endStream();
  await events.waitFor('lineReceived', line => line.event['note'] === '\u00fc');
});

test('the v1 agent closes the stream and reconnects after 10 s when a line is JSON, but not an object', async () => {
  const { events, waits } = await fixture.start();
  const from = events.mark();
  fixture.server.write('data: []\n\n');
  expect(await waits.release('reconnect')).toBe(10_000);
  await events.waitFor('streamOpen', () => true, from);
  await fixture.server.named('/stream')[0]?.closed;
});

test('the v1 agent starts a job with the data of the event and reports its statuses (contract items 2, 3)', async () => {
  const trainer = scriptedTrainer({ lines: ['step 1/2', 'step 2/2'] });
  const { events } = await fixture.start({ trainer, instant: ['poll'] });
  fixture.server.push(createSubmission('j1', { hf_token: 'hf_1' }));
  await events.waitFor('jobCleared');
  expect(events.of('jobStarted')[0]?.job).toEqual({
    jobId: 'j1',
    config: { model_type: 'lora' },
    dataloader: null,
    provider: null,
    uploadUrl: `${fixture.server.url}/api/cloud/storage`,
    uploadToken: 'ut_1',
    hfToken: 'hf_1',
  });
  expect(events.of('trainerLine').map(event => event.line)).toEqual(['step 1/2', 'step 2/2']);
  const bodies = fixture.server.named('/job/j1/status').map(call => call.body);
  expect(bodies).toEqual(['starting', 'training', 'completed'].map(status => ({ status, error: null })));
  expect(events.of('statusPosted')[2]).toMatchObject({ answerStatus: 200, answerBody: { success: true } });
});

test('the v1 agent reports `failed` with the exit code when the code is not 0 (contract item 3)', async () => {
  const { events } = await fixture.start({ trainer: scriptedTrainer({ exitCode: 3 }), instant: ['poll'] });
  fixture.server.push(createSubmission('j1'));
  const { error } = await events.waitFor('statusPosted', event => event.status === 'failed');
  expect(error).toBe('Training exited with code 3');
});

test('the v1 agent runs a job without an upload token with an empty upload token (contract item 2)', async () => {
  const { events } = await fixture.start();
  fixture.server.push(createSubmission('j1', { upload_token: undefined }));
  expect((await events.waitFor('jobStarted')).job.uploadToken).toBe('');
});

test.each(['upload_token', 'hf_token'])(
  'the v1 agent posts `starting`, but starts no trainer, when the %s is not a string (contract item 2)',
  async key => {
    const { agent, events, waits, manual } = await fixture.start();
    fixture.server.push(createSubmission('j1', { [key]: key === 'upload_token' ? null : 1 }));
    await waits.release('reconnect');
    await events.waitFor('registered', event => event.namedJob === 'j1');
    expect(fixture.statusesOf('j1')).toEqual(['starting']);
    expect(manual.runs).toEqual([]);
    expect(agent.currentJob).toBe('j1');
  },
);

test.each(['config', 'dataloader', 'upload_endpoint'])(
  'the v1 agent keeps a job without %s as its current job and reports nothing until abandon_job (contract item 2)',
  async key => {
    const { events, waits } = await fixture.start();
    fixture.server.push(createSubmission('j1', { [key]: undefined }));
    expect((await events.waitFor('connectionLost')).message).toContain(key);
    fixture.server.answer('/register', { body: { worker_id: 'w_1', abandon_job: 'j1' } });
    await waits.release('reconnect');
    await events.waitFor('jobCleared');
    expect(fixture.statusesOf('j1')).toEqual(['cancelled']);
  },
);

test('the v1 agent cannot register again after a job without job_id (contract item 2)', async () => {
  const { events, waits } = await fixture.start();
  fixture.server.push(createSubmission('j1', { job_id: undefined }));
  for (let tries = 0; tries < 3; tries += 1) await waits.release('reconnect');
  expect(events.of('connectionLost').every(event => event.message.includes('job_id'))).toBe(true);
  expect(fixture.registrations()).toHaveLength(1);
});

test('the v1 agent reports a job as failed when its config is not an object (contract item 2)', async () => {
  const { events } = await fixture.start();
  fixture.server.push(createSubmission('j1', { config: 'my-config' }));
  const { error } = await events.waitFor('statusPosted', event => event.status === 'failed');
  expect(error).toBe('Training exited with code 1');
});

test('the v1 agent ignores every offer while it is busy, even an offer of the same job (contract item 5)', async () => {
  const { events, manual } = await fixture.startBusy();
  fixture.server.push(createSubmission('j1'));
  fixture.server.push(createSubmission('j2'));
  await events.waitFor('jobIgnored', event => event.jobId === 'j2');
  const ignored = events.of('jobIgnored').map(event => `${event.jobId} for ${event.heldJob}`);
  expect(ignored).toEqual(['j1 for j1', 'j2 for j1']);
  expect(manual.runs).toHaveLength(1);
});
