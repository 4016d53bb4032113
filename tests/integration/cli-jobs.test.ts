/** `trainyard jobs ...` in this process, or as a separate program where signals or pipes matter. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { JobDetail } from '../../protocol/job.ts';
import { cliFile } from '../support/program-files.ts';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { type Program, startServer, startWorker, temporaryFolder, trainyard } from '../support/processes.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** Creates a config that only waits for this number of seconds. Returns its path. */
function selftest(seconds: number): string {
  const path = join(temporaryFolder(), 'try.json');
  writeFileSync(path, JSON.stringify({ trainer: 'selftest', seconds }));
  return path;
}

const killAfterTest = <P extends Program>(program: P): P => {
  onTestFinished(() => program.kill('SIGKILL'));
  return program;
};

describe('jobs commands without a worker', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
    server.config('digits', { steps: 3 });
  });
  afterAll(() => server.close());
  const jobs = (args: readonly string[], options?: CliOptions): Promise<CliRun> =>
    runTrainyard(['jobs', ...args, '--data-dir', server.dataDir], options);

  test('submits a job, finds it by id, prefix or name, and cancels it', async () => {
    const options = ['--label', 'gpu=a100*', '--gpus', '2', '--vram', '23.5', '--accelerator', 'CUDA'];
    const moreOptions = ['--priority', 'urgent', '--max-retries', '1', '--retry-on', 'timeout,trainer_exit'];
    const run = await jobs([
      'submit',
      'digits',
      ...options,
      ...moreOptions,
      '--timeout',
      '2h',
      '--target',
      'worker',
    ]);
    expect(run).toMatchObject({ code: 0, err: '' });
    const [, id = ''] = /^Job +(j_\w+)\nPosition +1 in the queue: No idle workers/.exec(run.out) ?? [];
    for (const word of [id, id.slice(0, 8), 'digits']) {
      const job = JSON.parse((await jobs(['get', word, '--json'])).out) as JobDetail;
      expect(job).toMatchObject({
        id,
        config_name: 'digits',
        status: 'pending',
        target: 'worker',
        worker_labels: { gpu: 'a100*' },
        gpu_count: 2,
        priority: 30,
        max_attempts: 2,
        retry_on: ['timeout', 'trainer_exit'],
        timeout_s: 7_200,
        attempts: [],
      });
    }
    expect((await jobs(['list', '--active', '-o', 'id,priority_name'])).out).toBe(`${id}\turgent\n`);
    // The job has not started, so cancelling loses nothing and needs no confirmation.
    expect(await jobs(['cancel', 'digits'], { answer: 'n' })).toMatchObject({ code: 0, questions: [] });
    expect((await jobs(['get', id])).out).toMatch(/^Job +j_\w+\nStatus +cancelled\n/);
    expect((await jobs(['cancel', 'digits'])).code).toBe(5);
    expect((await jobs(['list', '--status', 'cancelled', '-o', 'id'])).out).toBe(`${id}\n`);
    expect(await jobs(['list', '--active'])).toMatchObject({ out: '', err: 'No matching jobs\n' });
  });

  test('submits a local config file', async () => {
    const run = await jobs(['submit', selftest(1), '-o', 'job_id', '--label', 'gpu=none']);
    const job = JSON.parse((await jobs(['get', run.out.trim(), '--json'])).out) as JobDetail;
    expect(job.config_name).toBe('try');
    await jobs(['cancel', job.id]);
  });

  test('submits a config from standard input as "stdin", and refuses a terminal as standard input', async () => {
    const input = 'steps: 3\n';
    const run = await jobs(['submit', '-', '-o', 'job_id', '--label', 'gpu=none'], { input });
    expect(run.code).toBe(0);
    const [id = ''] = run.out.trim().split('\n');
    expect((await jobs(['get', id, '-o', 'config_name'])).out).toBe('stdin\n');
    await jobs(['cancel', id]);
    const terminalRun = await jobs(['submit', '-']);
    expect([terminalRun.code, terminalRun.err]).toEqual([2, expect.stringContaining('that is the terminal')]);
  });

  test('refuses to cancel a job by a config name that matches two jobs, and asks for an id', async () => {
    for (let index = 0; index < 2; index += 1) await jobs(['submit', 'digits', '--label', 'gpu=none']);
    const run = await jobs(['cancel', 'digits']);
    expect(run).toMatchObject({ code: 2, out: '' });
    expect(run.err).toMatch(/^"digits" is ambiguous: digits \(j_\w+\), digits \(j_\w+\)\. Give a longer id/);
    const [newest = '', older = ''] = (await jobs(['list', '--active', '-o', 'id'])).out.trim().split('\n');
    for (const command of ['get', 'why'])
      expect((await jobs([command, 'digits'])).out).toMatch(new RegExp(`^Job +${newest}\n`));
    for (const id of [newest, older]) await jobs(['cancel', id]);
    for (const command of ['cancel', 'why'])
      expect(await jobs([command, 'digits'])).toMatchObject({
        code: 5,
        err: expect.stringContaining('(digits) has already ended: cancelled') as string,
      });
  });

  test.each([
    [['--limit', '1000'], /--limit.*'1000'.*from 1 to 500/],
    [['--limit', '0'], /--limit.*'0'.*from 1 to 500/],
    [['--user', 'x'.repeat(201)], /^--user: must have at most 200 characters/],
  ])('exits with 2 for an option that the server would reject: %j', async (options, message) => {
    const run = await jobs(['list', ...options]);
    expect(run).toMatchObject({ code: 2, out: '' });
    expect(run.err).toMatch(message);
  });

  test('suggests only the documented statuses, and accepts their aliases', async () => {
    const run = await jobs(['list', '--status', 'runing']);
    expect(run.code).toBe(2);
    expect(run.err).toContain('Unknown status "runing". Known: pending, ');
    expect(run.err).not.toMatch(/queued|training/);
    expect(await jobs(['list', '--status', 'queued'])).toMatchObject({ code: 0 });
  });

  test('names the option and the value that a metric filter rejects', async () => {
    const run = await jobs(['submit', 'digits', '-o', 'job_id', '--label', 'gpu=none']);
    const id = run.out.trim();
    expect(await jobs(['metrics', id, '--attempt', '0'])).toMatchObject({
      code: 2,
      err: '--attempt: must be at least 1 (given: 0)\n',
    });
    await jobs(['cancel', id]);
  });

  test('exits with 2 for an unknown field of -o', async () => {
    const run = await jobs(['list', '-o', 'nosuch']);
    expect([run.code, run.err]).toEqual([
      2,
      expect.stringMatching(/^Unknown field nosuch\. Known fields: id, /),
    ]);
  });

  test('wraps the help at the width of a narrow terminal', async () => {
    const screen = { columns: 60, rows: 24 };
    const helpRuns = [await runTrainyard(['jobs', 'list', '--help'], { screen })];
    helpRuns.push(await runTrainyard(['--help'], { screen }));
    for (const { out } of helpRuns) {
      const [text = ''] = out.split('\nExamples:');
      expect(text.split('\n').filter(line => line.length > 60)).toEqual([]);
    }
  });

  test('ends the help of a command with examples', async () => {
    expect((await runTrainyard(['jobs', 'submit', '--help'])).out).toMatch(
      /\nExamples:\n {2}\$ trainyard jobs submit .*(?:\n {2}\$ trainyard jobs submit .*){7}\n$/,
    );
  });

  test.each<[string, number, readonly string[], RegExp]>([
    ['an unknown config', 4, ['submit', 'missing'], /no config missing.*\.\/NAME\.json/s],
    ['a missing file', 2, ['submit', './missing.json'], /cannot be read: ENOENT/],
    ['a GPU count that is not a number', 2, ['submit', 'digits', '--gpus', 'two'], /whole number/],
    [
      'an unknown priority',
      2,
      ['submit', 'digits', '--priority', 'asap'],
      /low, normal, high, urgent, critical/,
    ],
    ['a priority above the maximum', 2, ['submit', 'digits', '--priority', '51'], /0 to 50/],
    [
      'an unknown retry cause',
      2,
      ['submit', 'digits', '--retry-on', 'rain'],
      /Unknown cause "rain".*worker_lost/,
    ],
    [
      'too many stars in a label',
      2,
      ['submit', 'digits', '--label', 'a=*b*c*d*'],
      /^--label: at most 3 "\*"/,
    ],
    [
      'an unknown --on-lost-contact policy',
      2,
      ['submit', 'digits', '--on-lost-contact', 'panic'],
      /--on-lost-contact .*continue, stop/,
    ],
    [
      'a local target without a local worker',
      5,
      ['submit', 'digits', '--target', 'local'],
      /use target "worker"/,
    ],
    ['an unknown job', 4, ['get', 'j_none'], /No job "j_none".*jobs list/],
    ['a limit above the maximum', 2, ['list', '--limit', '501'], /limit/],
  ])('fails with a reason for %s: exit code %i', async (_what, code, args, message) => {
    const run = await jobs(args);
    expect(run).toMatchObject({ code, out: '' });
    expect(run.err).toMatch(message);
  });

  test('exits with 5 when an ended job is released', async () => {
    const id = (await jobs(['submit', 'digits', '--label', 'gpu=none', '-o', 'job_id'])).out.trim();
    await jobs(['cancel', id]);
    expect(await jobs(['release', id, '--yes'])).toMatchObject({ code: 5, out: '' });
  });

  test('redraws jobs watch as a table on a terminal', async () => {
    const id = await server.submit({ config_name: 'digits', worker_labels: { gpu: 'none' } });
    let screen = '';
    const waitForScreen = (isDrawn: () => boolean) =>
      new Promise<void>(resolve => {
        checkScreen = () => isDrawn() && resolve();
        checkScreen();
      });
    let checkScreen = (): unknown => undefined;
    // On a terminal, only Ctrl-C ends `jobs watch`. Here, the command ends when the server stops.
    void jobs(['watch'], {
      screen: { columns: 60, rows: 10 },
      onText(text) {
        screen += text;
        checkScreen();
      },
    });
    const table = new RegExp(`0 on workers, 1 pending\nID +STATUS.*\n${id} +pending`);
    await waitForScreen(() => table.test(screen));
    await jobs(['cancel', id]);
    await waitForScreen(() => screen.includes('\r\u001b[3A\u001b[J0 on workers, 0 pending\n'));
    for (const line of screen.replaceAll('\u001b[J', '\n').split('\n'))
      expect(line.length).toBeLessThanOrEqual(60);
  });
});

describe('jobs commands with a worker', () => {
  test('follows a job across a server crash with --follow, and exits with 8 when a job fails with --wait', async () => {
    const server = killAfterTest(await startServer());
    const flags = ['--data-dir', server.dataDir];
    const created = await runTrainyard(['workers', 'create', 'rig-1', '-o', 'token', ...flags]);
    killAfterTest(
      startWorker({
        url: server.url,
        token: created.out.trim(),
        args: ['--persistent', '--trainer', 'false {config_path}'],
      }),
    );
    const followRun = killAfterTest(
      trainyard(['jobs', 'submit', selftest(4), '--follow', '-o', 'status', ...flags]),
    );
    await followRun.waitForLine(/^Running on rig-1$/);
    server.kill('SIGKILL');
    await server.exited;
    await followRun.waitForLine(/^Lost the connection to http.*Reconnecting$/);
    const restarted = killAfterTest(await startServer(['--port', new URL(server.url).port], server.dataDir));
    expect(await followRun.exited).toEqual({ code: 0, signal: null });
    expect(followRun.lines.at(-1)).toBe('completed');
    expect(followRun.lines.filter(line => line.startsWith('Lost'))).toHaveLength(1);

    const broken = join(temporaryFolder(), 'broken.json');
    writeFileSync(broken, '{}');
    const failedRun = await runTrainyard(['jobs', 'submit', broken, '--wait', '-o', 'status', ...flags]);
    expect(failedRun).toMatchObject({ code: 8, out: 'failed\n' });
    expect(failedRun.err).toMatch(/^Job j_\w+ failed \(trainer_exit\): /m);
    const [, id = ''] = /^Job (j_\w+) failed/m.exec(failedRun.err) ?? [];
    const watchRun = await runTrainyard(['jobs', 'watch', id, '-o', 'attempts.0.cause', ...flags]);
    expect(watchRun).toMatchObject({ code: 8, out: 'trainer_exit\n' });
    restarted.kill('SIGTERM');
  });
});

describe('jobs watch without a terminal', () => {
  test('prints one line per event in jobs watch, reconnects to a restarted server, and ends on Ctrl-C', async () => {
    const first = killAfterTest(await startServer());
    const dataDir = first.dataDir;
    const flags = ['--data-dir', dataDir];
    const submit = async () =>
      (await runTrainyard(['jobs', 'submit', selftest(1), '-o', 'job_id', ...flags])).out.trim();
    const jsonWatch = killAfterTest(trainyard(['jobs', 'watch', '--json', ...flags]));
    const textWatch = killAfterTest(trainyard(['jobs', 'watch', ...flags]));
    for (const program of [jsonWatch, textWatch]) await program.waitForLine(/^Watching http/);
    const firstJob = await submit();
    for (const program of [jsonWatch, textWatch]) await program.waitForLine(new RegExp(firstJob));
    first.kill('SIGTERM');
    await first.exited;
    await jsonWatch.waitForLine(/^Lost/);
    const second = killAfterTest(await startServer([], dataDir));
    expect(second.url).not.toBe(first.url);
    const secondJob = await submit();
    await jsonWatch.waitForLine(new RegExp(`"type":"job\\.submitted","job_id":"${secondJob}"`));
    await textWatch.waitForLine(new RegExp(`Z  job\\.submitted  ${secondJob}  try  No idle workers`));
    const seqs = jsonWatch.lines
      .filter(line => line.startsWith('{'))
      .map(line => (JSON.parse(line) as { seq: number }).seq);
    expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
    // A shell reports an end by SIGINT as exit code 130.
    jsonWatch.kill('SIGINT');
    expect(await jsonWatch.exited).toEqual({ code: null, signal: 'SIGINT' });
  });

  test('exits silently from jobs watch when its output pipe is closed', async () => {
    const server = await startTestServer();
    onTestFinished(() => server.close());
    const argv = [cliFile, 'jobs', 'watch', '--data-dir', server.dataDir];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let errorText = '';
    child.stderr.on('data', text => (errorText += String(text)));
    const exited = new Promise(resolve => child.once('close', (code, signal) => resolve({ code, signal })));
    await new Promise<void>(resolve => {
      child.stderr.on('data', () => errorText.includes('\n') && resolve());
    });
    child.stdout.destroy();
    await server.submit({ config: {} });
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(errorText).toMatch(/^Watching \S+. Press Ctrl-C to stop\n$/);
  });
});
