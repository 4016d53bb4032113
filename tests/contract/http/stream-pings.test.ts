// With `pings=true`, pings are data, because `EventSource` does not pass comments on to the page.
import { expect, onTestFinished, test } from 'vitest';
import { StreamPing, UiEvent } from '../../../protocol/events.ts';
import { createShipper } from '../../support/log-bench.ts';
import { startTestServer } from '../../support/server.ts';
import { openRig, startJob } from '../../support/upload-bench.ts';

async function firstFrames(query: string, pattern: RegExp): Promise<string> {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const headers = { authorization: `Bearer ${server.adminToken}`, 'last-event-id': '0' };
  const response = await fetch(`${server.url}/api/events${query}`, { headers, signal: controller.signal });
  expect(response.status).toBe(200);
  await server.submit({ config: {} });
  return readUntil(response, pattern);
}

async function readUntil(response: Response, pattern: RegExp): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!pattern.test(text)) {
    const { value } = await reader.read();
    text += Buffer.from(value ?? []).toString();
  }
  return text;
}

const dataFrames = (text: string): readonly unknown[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as unknown);

test('first sends a ping with the interval and without an event number when pings=true', async () => {
  const text = await firstFrames('?pings=true', /job\.submitted/);
  const [first, ...events] = dataFrames(text);
  expect(StreamPing.parse(first).every_ms).toBeGreaterThan(0);
  expect(text).not.toMatch(/^id: .*\ndata: \{"kind":"ping"/m);
  expect(events.map(event => UiEvent.parse(event).kind)).toContain('job');
});

test('sends no ping events without pings=true', async () => {
  const text = await firstFrames('', /job\.submitted/);
  expect(text).not.toContain('"kind":"ping"');
});

test('sends a ping first on a log stream with pings=true', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const rig = await openRig(server);
  const { jobId } = await startJob(server, rig).then(async job => {
    await createShipper(server.url, rig, job).print('hello\n');
    return job;
  });
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(`${server.url}/api/queue/${jobId}/logs/stream?line=0&pings=true`, {
    headers: { authorization: `Bearer ${server.adminToken}` },
    signal: controller.signal,
  });
  const text = await readUntil(response, /hello/);
  expect(StreamPing.parse(dataFrames(text)[0]).every_ms).toBeGreaterThan(0);
  expect(dataFrames(text)[1]).toMatchObject({ type: 'lines', lines: [{ text: 'hello' }] });
});

test('refuses an invalid value of pings', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const response = await fetch(`${server.url}/api/events?pings=perhaps`, { headers });
  expect(response.status).toBe(400);
});
