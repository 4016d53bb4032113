/** `trainyard jobs` with the options of SimpleTuner's `jobs` command: lists, bulk cancel and purge. */
import { Agent } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { tokensApi } from '../../protocol/tokens-api.ts';
import { type CliOptions, runTrainyard } from '../support/cli.ts';
import { createLightWorker } from '../support/light-worker.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('digits', { steps: 3 });
});
afterAll(() => server.close());

const jobs = (args: readonly string[], options?: CliOptions) =>
  runTrainyard(['jobs', ...args, '--data-dir', server.dataDir], options);
const submit = (more: object = {}) => server.submit({ config_name: 'digits', ...more });
const statuses = async () =>
  valueOf(await server.admin.call(queueApi.list, { query: { limit: 500 } })).entries.map(
    ({ status }) => status,
  );

/** Deletes the jobs of earlier tests. */
beforeEach(async () => {
  expect((await jobs(['cancel', '--all', '--yes'])).code).toBe(0);
  expect((await jobs(['purge', '--all', '--yes'])).code).toBe(0);
});

describe('trainyard jobs list', () => {
  it('prints the chosen fields of jobs list as JSON with --format json', async () => {
    const id = await submit();
    const expected = [{ job_id: id, status: 'pending', 'progress.step': null }];
    for (const args of [['--format', 'json'], ['-f', 'json'], ['--json']]) {
      const { out } = await jobs(['list', ...args, '-o', 'job_id,status,progress.step']);
      expect(JSON.parse(out)).toEqual(expected);
    }
  });

  it('prints the whole response of jobs list as JSON when no fields are chosen', async () => {
    const id = await submit();
    expect(JSON.parse((await jobs(['list', '--format', 'json'])).out)).toMatchObject({
      entries: [{ id, config_name: 'digits' }],
    });
  });

  it('limits jobs list with -l, and filters by status with -s', async () => {
    const [, second] = [await submit(), await submit()];
    expect((await jobs(['list', '-l', '1', '-s', 'queued', '-o', 'job_id'])).out).toBe(`${second}\n`);
    expect((await jobs(['list', '-s', 'completed', '-o', 'job_id'])).out).toBe('');
  });

  it('prints the chosen fields of jobs get as a JSON object', async () => {
    const id = await submit();
    expect(JSON.parse((await jobs(['get', id, '--json', '-o', 'id,status'])).out)).toEqual({
      id,
      status: 'pending',
    });
  });

  it('exits with 2 for an unknown output format of jobs list', async () => {
    expect((await jobs(['list', '--format', 'xml'])).code).toBe(2);
  });
});

describe('trainyard jobs status', () => {
  it('prints the state of the queue, the local machine and the workers as JSON for jobs status', async () => {
    await submit();
    const { out } = await jobs(['status', '--format', 'json']);
    expect(JSON.parse(out)).toMatchObject({
      queue_depth: 1,
      running: 0,
      by_status: { pending: 1 },
      local: { running_jobs: 0, total_gpus: 0 },
      workers: { total_workers: 0 },
    });
  });

  it('prints one job for jobs status with a job id', async () => {
    const id = await submit();
    expect((await jobs(['status', id, '-o', 'id,status'])).out).toBe(`${id}\tpending\n`);
  });
});

describe('trainyard jobs submit', () => {
  it('submits a job with the short options -t and -n, and with --for-approval', async () => {
    expect((await jobs(['submit', 'digits', '-t', 'worker', '-n'])).code).toBe(0);
    expect(await statuses()).toEqual([]);
    await jobs(['submit', 'digits', '-t', 'worker', '--for-approval']);
    expect(await statuses()).toEqual(['blocked']);
  });
});

describe('cancelling many jobs', () => {
  it('cancels every job that has not ended for jobs cancel --all', async () => {
    await submit();
    await submit({ requires_approval: true });
    const { code, out } = await jobs(['cancel', '--all', '--force', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      success: true,
      count: 2,
      jobs: [{ status: 'cancelled' }, { status: 'cancelled' }],
    });
    expect(await statuses()).toEqual(['cancelled', 'cancelled']);
  });

  it('cancels pending jobs before running ones, so that no pending job starts during a bulk cancel', async () => {
    const { id, token } = await server.createWorker({ name: 'rig' });
    const agent = new Agent();
    const worker = createLightWorker({ url: server.url, id, token, agent });
    onTestFinished(() => {
      worker.cut();
      agent.destroy();
    });
    await worker.register({ gpu_count: 1 });
    await worker.openStream();
    const running = await submit();
    const pending = await submit();
    const { out } = await jobs(['cancel', '--all', '-f', '-o', 'job_id']);
    expect(out).toBe(`${pending}\n${running}\n`);
    expect(valueOf(await server.admin.call(queueApi.get, { params: { id: pending } })).attempts).toEqual([]);
    const offer = worker.commands.find(({ type }) => type === 'job_submit');
    await worker.report(running, offer?.attempt_id ?? '', 'cancelled');
    expect((await jobs(['purge', '--all', '-f'])).code).toBe(0);
  });

  it('cancels only jobs with the given --status', async () => {
    await submit();
    await submit();
    expect((await jobs(['cancel', '--status', 'running', '-f'])).err).toContain('No matching jobs');
    expect(await statuses()).toEqual(['pending', 'pending']);
    expect((await jobs(['cancel', '-s', 'queued', '-f', '-o', 'status'])).out).toBe('cancelled\ncancelled\n');
  });

  it('asks once before a bulk cancel on a terminal, and changes nothing when the answer is no', async () => {
    await submit();
    const declined = await jobs(['cancel', '--all'], { answer: 'n' });
    expect(declined.questions).toEqual(['Cancel 1 job (1 pending)? [y/N] ']);
    expect([declined.code, await statuses()]).toEqual([1, ['pending']]);
    expect((await jobs(['cancel', '--all'], { answer: 'y' })).code).toBe(0);
    expect(await statuses()).toEqual(['cancelled']);
  });

  it('exits with 2 for a bulk cancel without a terminal and without --yes', async () => {
    await submit();
    const { code, err } = await jobs(['cancel', '--all']);
    expect([code, err]).toEqual([2, expect.stringContaining('confirm with --yes')]);
    expect(await statuses()).toEqual(['pending']);
  });

  it.each([[[]], [['digits', '--all']], [['--all', '--status', 'pending']], [['--status', 'completed']]])(
    'exits with 2 for jobs cancel %j',
    async args => {
      await submit();
      expect((await jobs(['cancel', ...args, '--yes'])).code).toBe(2);
      expect(await statuses()).toEqual(['pending']);
    },
  );
});

describe('completion of jobs commands', () => {
  it.each([
    [['cancel', '--status', ''], 'running pending queued blocked'],
    [['purge', '--status', ''], 'pending blocked queued completed failed cancelled'],
    [['list', '--format', ''], 'table json'],
    [['pur'], 'purge'],
  ])('completes values after jobs %j', async (words, expected) => {
    const { out } = await runTrainyard(['__complete', 'zsh', 'jobs', ...words]);
    const completions = out
      .split('\n')
      .slice(0, -2)
      .map(line => line.split('\t')[0]);
    expect(completions.join(' ')).toBe(expected);
  });
});

describe('trainyard jobs purge', () => {
  it('deletes jobs with the given statuses in jobs purge, and keeps the others', async () => {
    const first = await submit();
    await jobs(['cancel', first]);
    await submit();
    expect((await jobs(['purge', '-s', 'failed', '-s', 'cancelled', '-f', '-o', 'job_id,status'])).out).toBe(
      `${first}\tdeleted\n`,
    );
    expect(await statuses()).toEqual(['pending']);
  });

  it('deletes pending and ended jobs with jobs purge --all', async () => {
    await jobs(['cancel', await submit()]);
    await submit();
    await submit({ requires_approval: true });
    expect(JSON.parse((await jobs(['purge', '--all', '-f', '--json'])).out)).toMatchObject({ count: 3 });
    expect(await statuses()).toEqual([]);
  });

  it('exits with 2 for jobs purge without an allowed status or --all', async () => {
    await submit();
    expect((await jobs(['purge', '--yes'])).code).toBe(2);
    expect((await jobs(['purge', '--status', 'running', '--yes'])).code).toBe(2);
    expect(await statuses()).toEqual(['pending']);
  });

  it('requires --yes for jobs purge without a terminal, and asks on a terminal', async () => {
    await submit();
    expect((await jobs(['purge', '--all'])).code).toBe(2);
    const { questions } = await jobs(['purge', '--all'], { answer: '' });
    expect(questions).toEqual(['Delete, with their files and logs, 1 job (1 pending)? [y/N] ']);
    expect(await statuses()).toEqual(['pending']);
  });

  it('reports jobs that the token may not delete, and exits with 1', async () => {
    const id = await submit();
    const { token } = valueOf(
      await server.admin.call(tokensApi.create, {
        body: { name: 'viewer', permissions: ['queue.view'] },
      }),
    );
    const run = await runTrainyard(['jobs', 'purge', '--all', '--yes', '--url', server.url], {
      env: { ADMIN_TOKEN: token },
    });
    expect(run.code).toBe(1);
    expect(run.err).toContain(id);
    expect(await statuses()).toEqual(['pending']);
  });
});
