// See docs/internals/faults.md, S15 and S16.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../../protocol/queue-api.ts';
import { UiEvent } from '../../../protocol/events.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

// Opens a stream and reads its raw bytes.
async function openStream(path: string, headers: Readonly<Record<string, string>>) {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(server.url + path, { headers, signal: controller.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  return {
    response,
    async until(pattern: RegExp): Promise<string> {
      while (!pattern.test(text)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`the stream ended without ${pattern.source}: ${text}`);
        text += Buffer.from(value).toString('latin1');
      }
      return text;
    },
    close: () => controller.abort(),
  };
}

describe('stream of a worker', () => {
  const join = async () => {
    const { id, token } = await server.createWorker({ name: 'rig-1' });
    const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
    const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 0 });
    await fetch(`${server.url}/api/workers/register`, { method: 'POST', headers, body });
    return { id, stream: await openStream(`/api/workers/stream?worker_id=${id}`, headers), headers };
  };

  test("starts a worker's stream immediately without buffering, and sends a job in one ASCII line", async () => {
    const { id, stream } = await join();
    expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(stream.response.headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(stream.response.headers.get('x-accel-buffering')).toBe('no');
    await stream.until(/: open\n\n/);
    await server.watch.worker(id, 'idle');
    const config = { prompt: 'a\u2028b\u0085c 日本 🚂', '--lora': true };
    const job = await server.submit({ config });
    const text = await stream.until(/job_submit.*\n\n/);
    const [line = ''] = text.split('\n').filter(part => part.includes('job_submit'));
    expect(line).toMatch(/^data: [\x20-\x7e]+$/);
    expect(JSON.parse(line.slice('data: '.length))).toMatchObject({
      type: 'job_submit',
      job_id: job,
      config,
      dataloader: null,
      upload_endpoint: '/api/cloud/storage',
    });
    await server.admin.call(queueApi.cancel, { params: { id: job } });
    await stream.until(/job_cancel/);
  });

  test("ends a worker's stream when the worker opens another stream", async () => {
    const { id, stream, headers } = await join();
    await openStream(`/api/workers/stream?worker_id=${id}`, headers);
    await expect(stream.until(/never/)).rejects.toThrow('the stream ended');
  });
});

describe('event stream', () => {
  const bearer = () => ({ authorization: `Bearer ${server.adminToken}` });
  const eventsIn = (text: string): readonly UiEvent[] =>
    text
      .split('\n')
      .filter(line => line.startsWith('data: '))
      .map(line => UiEvent.parse(JSON.parse(line.slice('data: '.length))));

  test('continues the event stream after Last-Event-ID without gap or repeat', async () => {
    const { as_of_seq: start } = valueOf(await server.admin.call(queueApi.list, {}));
    const jobs: string[] = [];
    for (let n = 0; n < 3; n += 1)
      jobs.push(await server.submit({ config: {}, worker_labels: { no: 'such' } }));
    const stream = await openStream('/api/events', { ...bearer(), 'last-event-id': String(start + 1) });
    await server.submit({ config: {}, worker_labels: { no: 'such' } });
    const text = await stream.until(new RegExp(`id: ${start + 4}\\n.*\\n\\n`));
    const events = eventsIn(text);
    // The server can send other events, too, but no event is missing or repeated.
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => start + 2 + n));
    expect(events.find(event => event.kind === 'job' && event.job_id === jobs[1])).toMatchObject({
      kind: 'job',
      type: 'job.submitted',
      job_id: jobs[1],
      job: { status: 'pending', reason: expect.stringContaining('No idle workers') as string },
    });
  });

  test('replays a long history of events completely to a reader that keeps up', async () => {
    const { id, token } = await server.createWorker({ name: 'rig-long' });
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`label-${n}`, 'x'.repeat(60)]));
    const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
    const body = JSON.stringify({ protocol: 2, persistent: true, gpu_count: 0, labels });
    const { as_of_seq: start } = valueOf(await server.admin.call(queueApi.list, {}));
    // About 3 MB in total, because each event contains the whole worker.
    const register = () => fetch(`${server.url}/api/workers/register`, { method: 'POST', headers, body });
    // Calls at the same time share a transaction, which saves most of the time.
    for (let n = 0; n < 20; n += 1) await Promise.all(Array.from({ length: 30 }, register));
    const stream = await openStream('/api/events', { ...bearer(), 'last-event-id': String(start) });
    const last = await server.submit({ config: {}, worker_labels: { no: 'such' } });
    const events = eventsIn(await stream.until(new RegExp(`"job_id":"${last}".*\\n\\n`)));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => start + 1 + n));
    expect(events.filter(event => event.kind === 'worker' && event.worker_id === id)).toHaveLength(600);
  });

  const unusableEventIds = ['-1', '1e99', 'abc', '999999999', '', '9'.repeat(15), '1, 2', '0x10', '1.5'];
  test.each([...unusableEventIds.map(id => [`"${id}"`, id]), ['5,000 digits', '9'.repeat(5_000)]])(
    'answers a Last-Event-ID of %s with a reset',
    async (_title, id) => {
      const stream = await openStream('/api/events', { ...bearer(), 'last-event-id': id });
      const text = await stream.until(/"kind":"reset".*\n\n/);
      const { as_of_seq: newest } = valueOf(await server.admin.call(queueApi.list, {}));
      expect(eventsIn(text)).toMatchObject([{ kind: 'reset', seq: newest }]);
    },
  );
});
