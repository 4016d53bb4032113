import { describe, expect, it } from 'vitest';
import { createLog, batchLines } from '../../../../main/host/log.ts';

function openLog(json = true) {
  const lines: string[] = [];
  const log = createLog(line => lines.push(line()), json);
  return { log, lines, read: () => lines.map(line => JSON.parse(line) as Record<string, unknown>) };
}

describe('log lines', () => {
  it('writes each entry on one line, as JSON and as text', () => {
    for (const json of [true, false]) {
      const { log, lines } = openLog(json);
      log.warn('job.failed', { job_id: 'j_1', note: 'two\nlines \u001b[31m "quoted"' });
      expect(lines).toHaveLength(1);
      expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1);
      expect(lines[0]).not.toContain('\u001b');
      expect(lines[0]).toContain('job.failed');
    }
  });

  it('writes an error with its stack and its cause', () => {
    const { log, read } = openLog();
    log.error('http.failed', { cause: new Error('outer', { cause: new Error('inner') }) });
    expect(read()).toMatchObject([{ level: 'error', event: 'http.failed' }]);
    expect(read()[0]?.['cause']).toMatch(/^Error: outer\n +at .* <- Error: inner\n/s);
  });
});

describe('log fields that cannot be written as JSON', () => {
  const circular: Record<string, unknown> = {};
  circular['itself'] = circular;
  it.each([
    ['refers to itself', circular],
    ['is a BigInt', 1n],
  ])('omits only the log field that %s', (_case, value) => {
    for (const json of [true, false]) {
      const { log, lines } = openLog(json);
      log.info('one', { value });
      log.info('two', { value: 2 });
      expect(lines).toEqual([
        expect.stringMatching(/one.* could not be written as JSON/),
        expect.stringContaining('two'),
      ]);
    }
  });
});

describe('a log output that is not read', () => {
  it('drops lines while the output cannot keep up, and writes their count before the next line', () => {
    for (const json of [true, false]) {
      const lines: string[] = [];
      let isBehind = false;
      const log = createLog(
        line => lines.push(line()),
        json,
        () => isBehind,
      );
      log.info('one');
      isBehind = true;
      log.info('two');
      log.error('three');
      isBehind = false;
      log.info('four');
      log.info('five');
      // The event name in each line.
      const events = lines.map(line => /log\.left_out.*|one|two|three|four|five/.exec(line)?.[0].trim());
      expect(events).toEqual([
        'one',
        json ? 'log.left_out","lines":2}' : 'log.left_out lines=2',
        'four',
        'five',
      ]);
    }
  });
});

describe('createLog.within', () => {
  it('adds a context only to the lines that are logged by the work within that context', async () => {
    const { log, read } = openLog();
    const finish = Promise.withResolvers<void>();
    const lines = ['one', 'two'].map(
      id =>
        new Promise<void>(resolve => {
          const work = async (): Promise<void> => {
            await finish.promise;
            log.info('work', { id });
            resolve();
          };
          log.within(
            () => ({ request_id: id }),
            () => void work(),
          );
        }),
    );
    log.info('work', { id: 'outside' });
    finish.resolve();
    await Promise.all(lines);
    expect(read().map(({ id, request_id }) => [id, request_id])).toEqual([
      ['outside', undefined],
      ['one', 'one'],
      ['two', 'two'],
    ]);
  });

  it('adds no context to lines logged after the context became null', async () => {
    const { log, read } = openLog();
    let isOver = false;
    let laterWork = Promise.resolve();
    log.within(
      () => (isOver ? null : { request_id: 'one' }),
      () => {
        log.info('first');
        laterWork = new Promise(resolve => {
          setImmediate(() => {
            log.info('later');
            resolve();
          });
        });
      },
    );
    isOver = true;
    await laterWork;
    expect(read().map(({ event, request_id }) => [event, request_id])).toEqual([
      ['first', 'one'],
      ['later', undefined],
    ]);
  });

  it('prefers a field of the log line to the same field of the context', () => {
    const { log, read } = openLog();
    log.within(
      () => ({ request_id: 'one' }),
      () => log.info('x', { request_id: 'two' }),
    );
    expect(read()).toMatchObject([{ request_id: 'two' }]);
  });
});

it('writes the lines of one turn of the event loop together and in order', async () => {
  const written: string[] = [];
  const write = batchLines(text => void written.push(text));
  write(() => 'one\n');
  write(() => 'two\n');
  expect(written).toEqual([]);
  await new Promise(resolve => setImmediate(resolve));
  expect(written).toEqual(['one\ntwo\n']);
  write(() => 'three\n');
  await new Promise(resolve => setImmediate(resolve));
  expect(written).toEqual(['one\ntwo\n', 'three\n']);
});
