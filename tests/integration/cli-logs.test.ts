/** `trainyard jobs logs` against a server in this process. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { openFolder } from '../support/fleet-bench.ts';
import { createShipper, type Shipper } from '../support/log-bench.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob } from '../support/upload-bench.ts';

let server: TestServer;
let count = 0;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

const screen = { columns: 60, rows: 20 };
const logs = (args: readonly string[], options?: CliOptions): Promise<CliRun> =>
  runTrainyard(['jobs', 'logs', ...args, '--data-dir', server.dataDir], options);
const numberedLines = (end: number, from = 0): readonly string[] =>
  Array.from({ length: end - from }, (_, n) => `line ${from + n}`);
const textOf = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('');

interface RunningJob {
  readonly rig: Rig;
  readonly job: JobOffer;
  readonly shipper: Shipper;
}
async function runJob(body: Parameters<typeof startJob>[2] = {}): Promise<RunningJob> {
  const rig = await openRig(server, `rig-${(count += 1)}`);
  const job = await startJob(server, rig, body);
  return { rig, job, shipper: createShipper(server.url, rig, job) };
}

/** Starts a command that keeps running. The test can wait for its output. */
function start(args: readonly string[], options: CliOptions = {}) {
  let text = '';
  const checks = new Set<() => void>();
  const run = logs(args, {
    ...options,
    onText(more) {
      text += more;
      for (const runCheck of checks) runCheck();
    },
  });
  return {
    run,
    waitFor: (part: string): Promise<void> =>
      new Promise(resolve => {
        const check = (): void => {
          if (!text.includes(part)) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
      }),
  };
}

describe('jobs logs', () => {
  test('prints the last 200 lines of a log, or the number in -n', async () => {
    const { job, shipper } = await runJob({ config_name: 'digits' });
    await shipper.print(`${textOf(numberedLines(4_500))}\r10%`);
    expect(await logs([job.jobId])).toEqual({
      code: 0,
      out: textOf(numberedLines(4_500, 4_300)),
      err: '',
      questions: [],
    });
    expect((await logs([job.jobId.slice(0, 8), '-n', '3'])).out).toBe(textOf(numberedLines(4_500, 4_497)));
    expect((await logs(['digits', '-n', '0'])).out).toBe('');
    expect((await logs([job.jobId, '--lines', 'all'])).out).toBe(textOf(numberedLines(4_500)));
    expect((await logs([job.jobId, '-n', '2'], { screen })).out).toBe(
      `${textOf(numberedLines(4_500, 4_498))}10%\n`,
    );
  });

  test('prints log lines as JSON, as fields, with timestamps, and of one attempt', async () => {
    const { job, shipper } = await runJob();
    await shipper.print('one\n\u001b[2Ktwo\n', true);
    const rows = (await logs([job.jobId, '--json'])).out.trimEnd().split('\n');
    expect(rows.map(row => JSON.parse(row) as unknown)).toMatchObject([
      { line: 0, text: 'one' },
      { line: 1, text: '\u001b[2Ktwo' },
    ]);
    expect((await logs([job.jobId, '-o', 'line,text'])).out).toBe('0\tone\n1\ttwo\n');
    expect((await logs([job.jobId, '--timestamps', '--attempt', '1'])).out).toMatch(
      /^\d{4}-\S+Z one\n\d{4}-\S+Z two\n$/,
    );
  });

  test('removes terminal escapes except colors from log lines', async () => {
    const { job, shipper } = await runJob();
    const texts = [
      '\u001b[1;31mred\u001b[0m',
      'a\u001b[2Jb\u001b[10;20Hc\u001b]0;title\u001b\\d\u001bPq#\u001b\\e\u001b7f\u001b(Bg\u001b[?1049hh',
      '\u202etxt.exe\u001b',
      'tab\there',
    ];
    await shipper.print(textOf(texts), true);
    const others = ['abcdefgh', ' txt.exe', 'tab\there'];
    expect((await logs([job.jobId], { screen })).out).toBe(
      textOf(['\u001b[1;31mred\u001b[0m\u001b[0m', ...others]),
    );
    for (const options of [{}, { screen, env: { NO_COLOR: '1' } }])
      expect((await logs([job.jobId], options)).out).toBe(textOf(['red', ...others]));
    expect((await logs([job.jobId, '-n', '4', '-o', 'text'])).out).toMatch(/^red\n/);
  });

  test('searches a log case-insensitively, and reports how many more lines match', async () => {
    const { job, shipper } = await runJob();
    await shipper.print(textOf(numberedLines(3_000)), true);
    expect(await logs([job.jobId, '--search', 'LINE 299', '-n', '4'])).toMatchObject({
      code: 0,
      out: textOf(['line 299', ...numberedLines(2_993, 2_990)]),
      err: '7 more lines match. To print all, use -n all\n',
    });
    expect(await logs([job.jobId, '--search', 'LINE 299', '-n', '0'])).toMatchObject({
      code: 0,
      out: '',
      err: '11 more lines match. To print all, use -n all\n',
    });
    expect((await logs([job.jobId, '--search', 'line', '-n', 'all'])).out).toBe(textOf(numberedLines(3_000)));
    expect(await logs([job.jobId, '--search', 'nowhere'])).toMatchObject({
      code: 0,
      out: '',
      err: 'None of 3000 lines match\n',
    });
  });

  test.each([
    [['j_nowhere'], 4, /No job "j_nowhere"/],
    [['JOB', '--attempt', '7'], 4, /no attempt 7/],
    [['JOB', '--attempt', '0'], 2, /--attempt/],
    [['JOB', '-n', 'x'], 2, /Give a whole number, or "all"/],
    [['JOB', '--search', ''], 2, /--search/],
    [['JOB', '--search', 'a', '--follow'], 2, /cannot be used/],
  ])('exits with a reason for jobs logs with the invalid arguments %j', async (args, code, message) => {
    const { job, shipper } = await runJob();
    await shipper.print('one\n', true);
    const run = await logs(args.map(arg => arg.replace('JOB', job.jobId)));
    expect(run).toMatchObject({ code, out: '' });
    expect(run.err).toMatch(message);
  });

  test('exits with 4 and a reason when the attempt has printed nothing yet', async () => {
    const { job } = await runJob();
    const run = await logs([job.jobId]);
    expect(run).toMatchObject({ code: 4, out: '' });
    expect(run.err).toMatch(/Attempt 1 .* has printed nothing yet/);
  });
});

describe('jobs logs --follow', () => {
  test('waits for the log to start, prints new lines, and exits when the job ends', async () => {
    const { job, shipper, rig } = await runJob();
    const followRun = start([job.jobId, '-f']);
    await followRun.waitFor('Waiting for it');
    await shipper.print(`${textOf(numberedLines(3))}\r1%`);
    await followRun.waitFor('line 2\n');
    await shipper.print('\r100%\nline 4', true);
    await rig.report(job, 'completed');
    const { code, out, err } = await followRun.run;
    expect([code, out]).toEqual([0, textOf([...numberedLines(3), '100%', 'line 4'])]);
    expect(err.split('\n')).toHaveLength(2);
  });

  test('starts following a log with the last -n lines', async () => {
    const { job, shipper, rig } = await runJob();
    await shipper.print(textOf(numberedLines(500)));
    const followRun = start([job.jobId, '-f', '-n', '2']);
    await followRun.waitFor('line 499\n');
    await shipper.print('more\n', true);
    await rig.report(job, 'completed');
    expect((await followRun.run).out).toBe(textOf(['line 498', 'line 499', 'more']));
  });

  test('redraws the unfinished line on a terminal, and prints finished lines over it', async () => {
    const { job, shipper, rig } = await runJob();
    await shipper.print('start\n\r10%');
    const followRun = start([job.jobId, '-f'], { screen });
    await followRun.waitFor('10%');
    await shipper.print(`\r${'#'.repeat(100)}`);
    await followRun.waitFor('…');
    await shipper.print('\rdone\n', true);
    await rig.report(job, 'completed');
    const { out } = await followRun.run;
    expect(out).toBe(`start\n10%\r\u001b[2K${'#'.repeat(58)}…\r\u001b[2Kdone\n`);
  });

  test('continues a followed log after a server restart without repeating lines', async () => {
    const dataDir = openFolder();
    const first = await startTestServer({ dataDir });
    const rig = await openRig(first);
    const job = await startJob(first, rig);
    await createShipper(first.url, rig, job).print(textOf(numberedLines(20)));
    const followRun = start([job.jobId, '-f', '--url', first.url], {
      env: { ADMIN_TOKEN: first.adminToken },
    });
    await followRun.waitFor('line 19\n');
    await first.close();
    await followRun.waitFor('Reconnecting\n');
    const restarted = await startTestServer({ dataDir, port: Number(new URL(first.url).port) });
    onTestFinished(() => restarted.close());
    const position = Buffer.byteLength(textOf(numberedLines(20)));
    const text = textOf(numberedLines(40, 20));
    const { ship } = createShipper(restarted.url, rig, job);
    const end = position + Buffer.byteLength(text);
    expect(await ship({ after: position, from: position, to: end, text, is_last: true })).toBe(end);
    await rig.register();
    await rig.report(job, 'completed');
    const { code, out, err } = await followRun.run;
    expect([code, out]).toEqual([0, textOf(numberedLines(40))]);
    expect(err).toMatch(/^Lost the connection to http:\S+ .*Reconnecting\nReconnected to \S+\n$/);
  });

  test('follows the next attempt of a job, unless --attempt selects one', async () => {
    const { job, shipper, rig } = await runJob({ retry_on: ['trainer_exit'] });
    await shipper.print('first\n', true);
    const [allAttempts, firstAttempt] = [
      start([job.jobId, '-f']),
      start([job.jobId, '-f', '--attempt', '1']),
    ];
    await allAttempts.waitFor('first\n');
    expect(await firstAttempt.run).toMatchObject({ code: 0, out: 'first\n', err: '' });
    const second = await openRig(server, `rig-${(count += 1)}`);
    await rig.report(job, 'failed', { exit_code: 1 });
    const secondOffer = await second.nextOffer();
    await allAttempts.waitFor('continues as attempt 2\n');
    for (const status of ['starting', 'running']) await second.report(secondOffer, status);
    await createShipper(server.url, second, secondOffer).print('second\n', true);
    await second.report(secondOffer, 'completed');
    await allAttempts.waitFor('second\n');
    expect(secondOffer.jobId).toBe(job.jobId);
    expect(await allAttempts.run).toMatchObject({ code: 0, out: 'first\nsecond\n' });
  });
});
