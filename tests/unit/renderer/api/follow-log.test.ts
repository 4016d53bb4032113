/** The stream of a log resumes after the last known line, also when the server stops silently. */
import { expect, test } from 'vitest';
import { JobId } from '../../../../protocol/ids.ts';
import { followLog } from '../../../../renderer/api/follow-log.ts';
import { createOwnStream, type Source } from '../../../../renderer/api/stream/own.ts';

interface Connection {
  readonly url: string;
  isClosed: boolean;
  happen(type: 'open' | 'message', data?: object): void;
}

function openBench() {
  const connections: Connection[] = [];
  const news: string[] = [];
  let line = 0;
  let due: (() => void) | null = null;
  const connect = (url: string): Source => {
    const listeners = new Map<string, (event: { readonly data: string }) => void>();
    const connection: Connection = {
      url,
      isClosed: false,
      happen: (type, data = {}) => listeners.get(type)?.({ data: JSON.stringify(data) }),
    };
    connections.push(connection);
    return {
      readyState: 1,
      addEventListener: (type: string, run: (event: { readonly data: string }) => void) =>
        void listeners.set(type, run),
      close() {
        connection.isClosed = true;
      },
    };
  };
  const after = (_ms: number, run: () => void): (() => void) => {
    due = run;
    return () => void (due = null);
  };
  const stop = followLog({
    baseUrl: 'http://fleet',
    id: JobId.parse('j_1'),
    attempt: 2,
    line: () => line,
    tell: event => news.push(event.type),
    open: (address, tell) => createOwnStream({ connect: () => connect(address()), after })('', tell),
  });
  return {
    connections,
    news,
    stop,
    newest: () => connections.at(-1) ?? expect.fail('no connection was opened'),
    know: (lines: number) => void (line = lines),
    /** The next timer fires. */
    passTime() {
      const run = due ?? expect.fail('nothing waits for its time');
      due = null;
      run();
    },
    waits: () => due !== null,
  };
}

const ping = { kind: 'ping', every_ms: 20_000 };
const lines = { type: 'lines', lines: [], open_line: null };

test('reopens a log stream behind the known lines after two missed pings', () => {
  const bench = openBench();
  expect(bench.newest().url).toBe('http://fleet/api/queue/j_1/logs/stream?attempt=2&line=0&pings=true');
  bench.newest().happen('open');
  bench.newest().happen('message', ping);
  bench.newest().happen('message', lines);
  bench.know(40);
  bench.passTime();
  expect([bench.news, bench.newest().isClosed]).toEqual([['open', 'lines', 'lost'], true]);
  bench.passTime();
  expect(bench.newest().url).toContain('line=40');
  bench.newest().happen('open');
  expect(bench.news).toEqual(['open', 'lines', 'lost', 'open']);
});

test('closes the log stream at the end of the log', () => {
  const bench = openBench();
  bench.newest().happen('open');
  bench.newest().happen('message', { type: 'end', next_attempt: null });
  expect([bench.news, bench.newest().isClosed, bench.waits()]).toEqual([['open', 'end'], true, false]);
});

test('ignores unknown log stream events', () => {
  const bench = openBench();
  bench.newest().happen('open');
  bench.newest().happen('message', { type: 'chapter' });
  expect(bench.news).toEqual(['open']);
  bench.stop();
  expect(bench.newest().isClosed).toBe(true);
});
