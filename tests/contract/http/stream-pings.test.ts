/** Pings that a page can see: an `EventSource` hides comments. */
import { expect, onTestFinished, test } from 'vitest';
import { StreamPing, UiEvent } from '../../../protocol/events.ts';
import { startTestServer } from '../../support/server.ts';

async function firstFrames(query: string, pattern: RegExp): Promise<string> {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const headers = { authorization: `Bearer ${server.adminToken}`, 'last-event-id': '0' };
  const response = await fetch(`${server.url}/api/events${query}`, { headers, signal: over.signal });
  expect(response.status).toBe(200);
  await server.submit({ config: {} });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!pattern.test(text)) {
    const { value } = await reader.read();
    text += Buffer.from(value ?? []).toString();
  }
  return text;
}

const data = (text: string): readonly unknown[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as unknown);

test('a stream with pings=true begins with a ping that tells the interval, and has no number', async () => {
  const text = await firstFrames('?pings=true', /job\.submitted/);
  const [first, ...events] = data(text);
  expect(StreamPing.parse(first).every_ms).toBeGreaterThan(0);
  expect(text).not.toMatch(/^id: .*\ndata: \{"kind":"ping"/m);
  expect(events.map(event => UiEvent.parse(event).kind)).toContain('job');
});

test('other streams carry no pings as events', async () => {
  const text = await firstFrames('', /job\.submitted/);
  expect(text).not.toContain('"kind":"ping"');
});

test('a strange value of pings is refused', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const response = await fetch(`${server.url}/api/events?pings=perhaps`, { headers });
  expect(response.status).toBe(400);
});
