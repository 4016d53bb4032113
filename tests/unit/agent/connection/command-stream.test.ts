import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createFollowStream,
  type StreamEnd,
  type StreamDeps,
} from '../../../../agent/connection/command-stream.ts';
import { openNetwork, usualTrust } from '../../../../agent/connection/network.ts';
import type { WorkerCommand } from '../../../../protocol/worker-api.ts';
import { closedPortUrl, offerOf } from '../builders.ts';
import { type SseServer, startSseServer } from '../sse-server.ts';

const ping = 'data: {"type":"ping"}\n\n';
const frame = (command: unknown): string => `data: ${JSON.stringify(command)}\n\n`;
const offer: WorkerCommand = offerOf('j1', 'a1', { config: { text: 'ü\u2028€😀' }, upload_token: 'ut_1' });
const cancel: WorkerCommand = { type: 'job_cancel', job_id: offer.job_id, attempt_id: offer.attempt_id };

interface FollowedStream {
  readonly end: Promise<StreamEnd>;
  readonly opened: Promise<void>;
  readonly commands: readonly WorkerCommand[];
  /** Resolves when a ping has arrived, and all commands before the ping have been handled. */
  readonly pinged: Promise<void>;
  close(): void;
}

function follow({ url }: Pick<SseServer, 'url'>, overrides: Partial<StreamDeps> = {}): FollowedStream {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const commands: WorkerCommand[] = [];
  const opened = Promise.withResolvers<void>();
  const pinged = Promise.withResolvers<void>();
  const end = createFollowStream(openNetwork(usualTrust))({
    url: `${url}/api/workers/stream?worker_id=w_1`,
    token: () => 'wt_canary',
    silenceMs: 60_000,
    onOpen: opened.resolve,
    onRefused: () => {},
    onCommand: command => {
      if (command.type === 'ping') pinged.resolve();
      else commands.push(command);
    },
    signal: abort.signal,
    ...overrides,
  });
  return { end, opened: opened.promise, commands, pinged: pinged.promise, close: () => abort.abort() };
}

/** Returns the commands that the agent reads from these bytes. */
async function readCommands(...pieces: readonly (string | Uint8Array)[]): Promise<readonly WorkerCommand[]> {
  const server = await startSseServer();
  const { commands, pinged } = follow(server);
  const stream = await server.opened();
  await stream.write(...pieces, ping);
  await pinged;
  return commands;
}

it('sends the token in a header, and not in the URL', async () => {
  const server = await startSseServer();
  const { opened } = follow(server);
  const { path, headers } = await server.opened();
  await opened;
  expect(headers['x-worker-token']).toBe('wt_canary');
  expect(headers.accept).toBe('text/event-stream');
  expect(path).toBe('/api/workers/stream?worker_id=w_1');
});

describe('commands of a stream', () => {
  it.each<[string, WorkerCommand]>([
    ['an offer', offer],
    ['a cancel', cancel],
    ['a shutdown', { type: 'shutdown', reason: 'drained' }],
  ])('passes %s to the agent', async (_title, command) => {
    expect(await readCommands(frame(command))).toEqual([command]);
  });

  it('reads whole commands in order when each byte arrives separately', async () => {
    const bytes = Buffer.from(`${frame(offer)}: comment\n\n${frame(cancel)}`);
    const singleBytes = Array.from(bytes, byte => Uint8Array.of(byte));
    expect(await readCommands(...singleBytes)).toEqual([offer, cancel]);
  });

  it.each<[string, string]>([
    ['comments', `:\n: hello\n\n${frame(cancel)}:\n`],
    ['CRLF line ends', frame(cancel).replaceAll('\n', '\r\n')],
    ['no space after the colon', frame(cancel).replace('data: ', 'data:')],
    ['an id and a retry time', `id: 7\nretry: 1\n${frame(cancel)}`],
    ['unknown fields', `foo: bar\n${frame(cancel)}`],
    ['a byte order mark', `\ufeff${frame(cancel)}`],
    ['several lines of data', 'data: {"type":\ndata: "shutdown",\ndata: "reason":"x"}\n\n'],
    ['additional fields', frame({ ...cancel, since: 'v3' })],
  ])('reads a command with %s', async (_title, text) => {
    expect(await readCommands(text)).toHaveLength(1);
  });

  it('reads a command of 2 MB', async () => {
    const large = { ...offer, config: { text: 'x'.repeat(2 * 1024 * 1024) } };
    expect(await readCommands(frame(large))).toEqual([large]);
  });
});

describe('ignored messages (docs/internals/faults.md S10)', () => {
  const offerWith = (fields: object): string => frame({ ...offer, ...fields });
  const invalidJobIds = [
    '../x',
    '..',
    '.',
    'a/b',
    'a\\b',
    '/etc/passwd',
    'a\0b',
    'a b',
    '',
    'x'.repeat(65),
    '%2e%2e',
    'j1\n',
    42,
    null,
    ['j1'],
  ];
  const invalidAttemptIds = ['../x', '', 'a/b'];
  const invalidUploadPaths = [
    '//evil',
    '/\\evil',
    '@evil.test/',
    '.evil.test',
    ':80@evil.test',
    'https://evil.test',
    '',
    'api',
    '/api?x=1',
    '/api#x',
    '/a b',
    '/%2e%2e',
    '/api\n',
    null,
  ];

  it.each<[string, string]>([
    ['invalid JSON', 'data: {"type": "ping"\n\n'],
    ['JSON that is not an object', 'data: 42\n\ndata: null\n\ndata: []\n\ndata: "ping"\n\n'],
    ['empty data', 'data:\n\ndata\n\n'],
    ['a command type of a later version', frame({ type: 'drain' })],
    ['a command without a type', frame({ job_id: 'j1' })],
    ['an event with another name', `event: other\n${frame(offer)}`],
    ['a cancel without an attempt', frame({ type: 'job_cancel', job_id: 'j1' })],
    ['an offer without an attempt', offerWith({ attempt_id: undefined })],
    ['an offer whose config is a list', offerWith({ config: [] })],
    ['an offer whose config is a text', offerWith({ config: '{}' })],
    ...invalidJobIds.map((id): [string, string] => [
      `an offer with the job id ${JSON.stringify(id)?.slice(0, 20)}`,
      offerWith({ job_id: id }),
    ]),
    ...invalidAttemptIds.map((id): [string, string] => [
      `an offer with the attempt id "${id}"`,
      offerWith({ attempt_id: id }),
    ]),
    ...invalidUploadPaths.map((path): [string, string] => [
      `an offer with the upload path ${JSON.stringify(path)}`,
      offerWith({ upload_endpoint: path }),
    ]),
  ])('ignores %s, and reads the next command', async (_title, text) => {
    expect(await readCommands(text, frame(cancel))).toEqual([cancel]);
  });
});

describe('end of a stream', () => {
  it.each<[string, number, string | undefined, StreamEnd]>([
    ['a rejected token', 401, undefined, 'rejected'],
    ['another refusal', 403, undefined, 'lost'],
    ['a server that is not ready', 503, undefined, 'lost'],
    ['a response that is not a stream', 200, 'text/html', 'lost'],
    ['no content', 204, undefined, 'lost'],
  ])('ends the stream without an open event or a retry after %s', async (_title, status, type, expected) => {
    const server = await startSseServer((_request, response) => {
      response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end();
      return true;
    });
    const onOpen = vi.fn<() => void>();
    expect(await follow(server, { onOpen }).end).toBe(expected);
    expect(onOpen).not.toHaveBeenCalled();
    expect(server.calls()).toBe(1);
  });

  it.each<[string, 'end' | 'destroy']>([
    ['cleanly', 'end'],
    ['in the middle of a frame', 'destroy'],
  ])('reports a stream that ends %s as lost, without a partial command or a retry', async (_title, how) => {
    const server = await startSseServer();
    const { end, commands } = follow(server);
    const stream = await server.opened();
    await stream.write('retry: 1\n\n', 'data: {"type":"shutdown","reason":"x"}');
    stream[how]();
    expect(await end).toBe('lost');
    expect(commands).toEqual([]);
    expect(server.calls()).toBe(1);
  });

  it('reports an unreachable server as lost', async () => {
    expect(await follow({ url: await closedPortUrl() }).end).toBe('lost');
  });

  it('closes the stream connection when aborted', async () => {
    const server = await startSseServer();
    const { end, opened, close } = follow(server);
    const stream = await server.opened();
    await opened;
    close();
    expect(await end).toBe('aborted');
    await stream.closed;
  });

  it('opens no stream when already aborted', async () => {
    const server = await startSseServer();
    expect(await follow(server, { signal: AbortSignal.abort() }).end).toBe('aborted');
    expect(server.calls()).toBe(0);
  });

  it('does not follow a redirect of the stream', async () => {
    const redirectTarget = await startSseServer();
    const server = await startSseServer((_request, response) => {
      response.writeHead(307, { location: `${redirectTarget.url}/api/workers/stream` }).end();
      return true;
    });
    expect(await follow(server).end).toBe('lost');
    expect(redirectTarget.calls()).toBe(0);
  });
});

describe('silence of a stream', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('reports an open stream that is silent too long as lost, and closes the stream', async () => {
    const server = await startSseServer();
    const { end, opened } = follow(server);
    const stream = await server.opened();
    await opened;
    vi.advanceTimersByTime(60_000);
    expect(await end).toBe('lost');
    await stream.closed;
  });

  it('reports a stream whose response never starts as lost', async () => {
    const called = Promise.withResolvers<void>();
    const server = await startSseServer(() => {
      called.resolve();
      return true;
    });
    const { end } = follow(server);
    await called.promise;
    vi.advanceTimersByTime(60_000);
    expect(await end).toBe('lost');
  });

  it('restarts the silence timeout with every message', async () => {
    const server = await startSseServer();
    let received = Promise.withResolvers<void>();
    const { end, opened } = follow(server, { onCommand: () => received.resolve() });
    const stream = await server.opened();
    await opened;
    for (let n = 0; n < 5; n += 1) {
      vi.advanceTimersByTime(59_999);
      await stream.write(ping);
      expect(await Promise.race([received.promise, end])).toBeUndefined();
      received = Promise.withResolvers();
    }
    vi.advanceTimersByTime(60_000);
    expect(await end).toBe('lost');
  });

  it('leaves no timer after the end of the stream', async () => {
    const server = await startSseServer();
    const { end, opened, close } = follow(server);
    await opened;
    expect(vi.getTimerCount()).toBe(1);
    close();
    await end;
    expect(vi.getTimerCount()).toBe(0);
  });
});
