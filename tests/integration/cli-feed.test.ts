/** Event streams from a stub server: broken connections, silence and invalid responses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openEvents } from '../../main/cli/event-feed.ts';
import { runTrainyard } from '../support/cli.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Starts a server that answers each stream call with the next of these answers, and each list call with no entries. */
async function startStub(...streams: readonly Answer[]) {
  const remainingAnswers = [...streams];
  const server = createServer((request, response) => {
    if (request.url !== '/api/events') {
      response.end(JSON.stringify({ workers: [], total: 0, next_cursor: null, as_of_seq: 7 }));
      return;
    }
    remainingAnswers.shift()?.(response, request);
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, token: 'ta_x' };
}

const refuse: Answer = response =>
  response.writeHead(401, { 'content-type': 'application/problem+json' }).end(
    JSON.stringify({
      type: 'x',
      title: 'x',
      status: 401,
      code: 'token_invalid',
      detail: 'No more of that',
    }),
  );

const event = (seq: number) => ({ seq, at: '2026-01-02T03:04:05.678Z', kind: 'reset' });
const frame = (data: unknown): string => `id: 1\ndata: ${JSON.stringify(data)}\n\n`;

test('resumes the event stream after the last received event, and exits when the server refuses the stream', async () => {
  const lastEventIds: (string | undefined)[] = [];
  const recordId = ({ headers }: IncomingMessage) => {
    const id = headers['last-event-id'];
    lastEventIds.push(Array.isArray(id) ? id.join(',') : id);
  };
  const { url, token } = await startStub(
    (response, request) => {
      recordId(request);
      // Send an event of a newer version, then one event in two pieces, then close the connection.
      const frames = `: open\n\n${frame({ seq: 8, kind: 'weather' })}${frame(event(9))}`;
      response.write(frames.slice(0, -30));
      // Wait, so that the two pieces arrive separately.
      setTimeout(() => response.write(frames.slice(-30), () => response.destroy()), 100);
    },
    (response, request) => {
      recordId(request);
      refuse(response, request);
    },
  );
  const run = await runTrainyard(['workers', 'watch', '--url', url], { env: { ADMIN_TOKEN: token } });
  expect(lastEventIds).toEqual(['7', '9']);
  expect(run).toMatchObject({ code: 3, out: '' });
  expect(run.err).toBe(
    `Watching ${url}. Press Ctrl-C to stop\nSome events were missed\nLost the connection to ${url}: the connection broke. Reconnecting\n` +
      'No more of that\n',
  );
});

test('ends an event stream with an error when no data arrives within the maximum silence', async () => {
  const address = await startStub(response => void response.write(`: open\n\n${frame(event(1))}`));
  const events = await openEvents({ ...address, silenceMs: 300 });
  expect((await events.next()).value).toEqual(event(1));
  await expect(events.next()).rejects.toThrow('the stream timed out');
});

test('keeps an event stream open while it receives pings', async () => {
  const address = await startStub(response => {
    let pings = 0;
    const timer = setInterval(() => {
      pings += 1;
      response.write(pings < 8 ? ': ping\n\n' : frame(event(1)));
      if (pings === 8) clearInterval(timer);
    }, 250);
    response.on('close', () => clearInterval(timer));
  });
  const events = await openEvents({ ...address, silenceMs: 1_500 });
  expect((await events.next()).value).toEqual(event(1));
  await events.return();
});

test('rejects a response that is not an event stream', async () => {
  const address = await startStub(response => response.writeHead(502).end('<html>'));
  await expect(openEvents(address)).rejects.toThrow(`${address.url} refused the event stream: 502`);
});
