/** `trainyard queue ...`, and the commands of `trainyard jobs ...` that change the order of jobs. */
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { everyPage } from '../../main/cli/jobs/find.ts';
import { openRemote } from '../../main/cli/remote.ts';
import { createClient } from '../../protocol/client.ts';
import type { JobDetail } from '../../protocol/job.ts';
import type { QueueView } from '../../protocol/queue.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { workerApi } from '../../protocol/worker-api.ts';
import { type CliOptions, type CliRun, runTrainyard } from '../support/cli.ts';
import { createLightWorker } from '../support/light-worker.ts';
import { startServer, trainyard } from '../support/processes.ts';
import { startTestServer, type TestServer, valueOf } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('digits', { steps: 3 });
});
afterAll(() => server.close());

const ignore = () => undefined;

type Run = (args: readonly string[], options?: CliOptions) => Promise<CliRun>;
const group =
  (name: string): Run =>
  (args, options) =>
    runTrainyard([name, ...args, '--data-dir', server.dataDir], options);
const queue = group('queue');
const jobs = group('jobs');

const getJob = async (id: string): Promise<JobDetail> =>
  JSON.parse((await jobs(['get', id, '--json'])).out) as JobDetail;
/** Submits a job that no worker of these tests can take. */
const submitJob = (more: object = {}) =>
  server.submit({ config_name: 'digits', worker_labels: { gpu: 'none' }, ...more });

/** After each test, cancels all jobs that have not ended. */
beforeEach(() => async () => {
  const { entries } = valueOf(
    await server.admin.call(queueApi.list, { query: { limit: 500, include_completed: 'false' } }),
  );
  for (const { id } of entries) await server.admin.call(queueApi.cancel, { params: { id } });
});

/** Starts a worker that receives offers, and responds to an offer only when the test calls `complete`. */
async function startWorker(name: string, labels: Readonly<Record<string, string>>, gpus = 2) {
  const { id, token } = await server.createWorker({ name, labels });
  const agent = new Agent();
  const worker = createLightWorker({ url: server.url, id, token, agent });
  onTestFinished(() => {
    worker.cut();
    agent.destroy();
  });
  await worker.register({ gpu_count: gpus });
  await worker.openStream();
  /** Returns the worker's last offer. Returns null without an offer, or while the last offer is for job `previous`. */
  const findOffer = (previous: string | undefined) => {
    const { job_id: job, attempt_id: attempt } =
      worker.commands.findLast(({ type }) => type === 'job_submit') ?? {};
    return job === undefined || attempt === undefined || job === previous ? null : { job, attempt };
  };
  let lastJob: string | undefined;
  return {
    id,
    async leave() {
      const headers = () => ({ 'x-worker-token': token });
      const client = createClient({ baseUrl: server.url, headers, timeoutMs: 10_000 });
      valueOf(await client.call(workerApi.disconnect, { body: { worker_id: id } }));
      worker.cut();
    },
    /** Waits for the offer of another job, and reports the job as started and completed. */
    async complete() {
      const { job, attempt } = await worker.waitFor('an offer', () => findOffer(lastJob));
      lastJob = job;
      await worker.report(job, attempt, 'starting');
      await worker.report(job, attempt, 'completed', { exit_code: 0 });
    },
  };
}

describe('queue commands', () => {
  test('pauses the queue with a note, shows the note in the status, and resumes the queue', async () => {
    expect((await queue(['status'])).out).toBe(
      'Queue         open\nPending       0\nOn workers    0\nMax running   unlimited\nMax per user  unlimited\n',
    );
    const paused = await queue(['pause', '--note', 'new fans']);
    expect(paused).toMatchObject({ code: 0, err: '' });
    expect(paused.out).toMatch(/^Queue +paused by admin: new fans, since 20\S+Z\n/);
    await submitJob({ requires_approval: true });
    await submitJob();
    const status = await queue(['status']);
    expect(status.out).toMatch(/^Queue +paused by admin: new fans.*\nPending +2, 1 of them needs approval\n/);
    const { paused: pause } = JSON.parse((await queue(['status', '--json'])).out) as QueueView;
    expect(pause).toMatchObject({ by: 'admin', note: 'new fans' });
    expect((await queue(['resume', '-o', 'paused,total_pending'])).out).toBe('\t2\n');
    expect((await queue(['pause'])).out).toMatch(/^Queue +paused by admin, since/);
    await queue(['resume']);
  });

  test('sets and removes each queue limit without changing the other limits', async () => {
    expect((await queue(['limits'])).out).toBe('Max running   unlimited\nMax per user  unlimited\n');
    expect((await queue(['limits', '--max', '8', '--user-max', '2'])).out).toBe(
      'Max running   8\nMax per user  2\n',
    );
    expect((await queue(['limits', '--max', 'none', '-o', 'max_concurrent,user_max_concurrent'])).out).toBe(
      '\t2\n',
    );
    expect((await queue(['limits', '--max', '0', '-o', 'max_concurrent'])).out).toBe('0\n');
    expect((await queue(['status', '-o', 'max_concurrent,user_max_concurrent'])).out).toBe('0\t2\n');
    const local = 'local_gpu_max_concurrent,local_job_max_concurrent';
    expect((await queue(['limits', '--local-gpus', '6', '--local-jobs', '2', '-o', local])).out).toBe(
      '6\t2\n',
    );
    expect((await queue(['limits', '--local-gpus', 'none', '--local-jobs', '1', '-o', local])).out).toBe(
      '\t1\n',
    );
    await queue(['limits', '--max', 'none', '--user-max', 'none']);
  });

  test('asks before queue cleanup deletes jobs, and keeps jobs that have just ended', async () => {
    const id = await submitJob();
    await jobs(['cancel', id]);
    const declined = await queue(['cleanup', '--older-than', '30d'], { answer: 'n' });
    expect(declined).toMatchObject({ code: 1, out: '', err: 'Cancelled: nothing was changed\n' });
    expect(declined.questions).toEqual(['Delete all jobs that ended more than 30 days ago? [y/N] ']);
    expect((await queue(['cleanup', '--older-than', '1d'])).out).toBe('Deleted  0 jobs\n');
    const confirmed = await queue(['cleanup', '--older-than', '1d', '--yes'], { answer: 'n' });
    expect(confirmed).toMatchObject({ code: 0, questions: [], out: 'Deleted  0 jobs\n' });
    expect((await jobs(['get', id])).code).toBe(0);
    for (const age of ['0s', '12h', '366d'])
      expect(await queue(['cleanup', '--older-than', age])).toMatchObject({
        code: 2,
        err: expect.stringContaining('Give 1d to 365d'),
      });
  });

  test('counts jobs by status and user in queue stats', async () => {
    await submitJob();
    const ended = await submitJob();
    await jobs(['cancel', ended]);
    const { out } = await queue(['stats']);
    expect(out).toMatch(/^Queue +open\nPending +1\n/);
    expect(out).toMatch(/^Jobs +\d+ \w+\n/m);
    expect(out).toMatch(/^Users +admin: 1 pending, 0 on workers$/m);
    expect(out).toMatch(/^Ended in 24 h +\d+ completed, \d+ failed, [1-9]\d* cancelled$/m);
    const figures = await queue(['stats', '-o', 'queue_depth,by_status.pending,by_user.admin.pending']);
    expect(figures.out).toBe('1\t1\t1\n');
  });

  test('reports pauses and limits of the queue in jobs watch and workers watch', async () => {
    const otherServer = await startServer();
    onTestFinished(() => otherServer.kill('SIGKILL'));
    const flags = ['--data-dir', otherServer.dataDir];
    const watches = ['jobs', 'workers'].map(name => trainyard([name, 'watch', ...flags]));
    onTestFinished(() => {
      for (const watch of watches) watch.kill('SIGKILL');
    });
    const json = trainyard(['jobs', 'watch', '--json', ...flags]);
    onTestFinished(() => json.kill('SIGKILL'));
    for (const watch of [...watches, json]) await watch.waitForLine(/^Watching http/);
    await runTrainyard(['queue', 'pause', '--note', 'new fans', ...flags]);
    for (const watch of watches) await watch.waitForLine(/^20\S+Z {2}queue paused by admin: new fans$/);
    const line = await json.waitForLine(/^\{.*"kind":"queue","type":"queue\.paused","queue":\{/);
    expect(JSON.parse(line.input)).toMatchObject({ queue: { paused: { by: 'admin', note: 'new fans' } } });

    for (const name of ['jobs', 'workers']) {
      let screen = '';
      await new Promise<void>(resolve => {
        void runTrainyard([name, 'watch', ...flags], {
          screen: { columns: 60, rows: 10 },
          onText(text) {
            screen += text;
            if (/Queue paused by admin: new fans\n(ID|NAME)/.test(screen)) resolve();
          },
        });
      });
    }
    await runTrainyard(['queue', 'limits', '--max', '4', ...flags]);
    await runTrainyard(['queue', 'resume', ...flags]);
    for (const watch of watches) {
      await watch.waitForLine(/^20\S+Z {2}queue limits: max running 4, max per user unlimited$/);
      await watch.waitForLine(/^20\S+Z {2}queue resumed$/);
    }
  });
});

describe('order of jobs', () => {
  test('reorders pending jobs by priority and by moving one to the top', async () => {
    const [first, second, third] = [await submitJob(), await submitJob(), await submitJob()];
    const { out } = await jobs(['priority', third.slice(0, 9), 'Urgent']);
    expect(out).toMatch(/^Priority +30 \(urgent\)\nPosition +1$/m);
    expect((await jobs(['priority', second, '12', '-o', 'priority,position'])).out).toBe('12\t2\n');
    const topRun = await jobs(['top', first]);
    expect(topRun.out).toMatch(/^Priority +10 \(normal\), moved to the top\nPosition +1$/m);
    const { out: table } = await jobs(['list', '--active']);
    expect(table).toMatch(new RegExp(`^${first} +pending +digits +admin +- +0/4 +10 top `, 'm'));
    expect((await jobs(['priority', first, 'low', '-o', 'is_top,position'])).out).toBe('false\t3\n');
  });

  test('gives a job that needs approval no position until a user approves the job', async () => {
    const submitted = await jobs(['submit', 'digits', '--requires-approval', '--label', 'gpu=none']);
    const [, id = ''] = /^Job +(j_\w+)\n/.exec(submitted.out) ?? [];
    expect(submitted.out).toBe(
      `Job      ${id}\nBlocked  It needs approval: run "trainyard jobs approve ${id}"\n`,
    );
    const otherJob = await submitJob();
    expect((await jobs(['list', '--blocked', '-o', 'id,approval,position'])).out).toBe(`${id}\twanted\t\n`);
    expect((await jobs(['list', '--blocked'])).out).toMatch(/ Waits for approval .*\n$/);
    const jobText = await jobs(['get', id]);
    expect(jobText.out).toMatch(/^Now +Waits for approval .*^Approval +wanted$/ms);
    // The config name selects the job that needs approval, although another job has the same config name.
    expect((await jobs(['approve', 'digits', '-o', 'id,approval'])).out).toBe(`${id}\tgiven\n`);
    expect(await jobs(['approve', id])).toMatchObject({ code: 5, out: '' });
    expect(await jobs(['reject', otherJob])).toMatchObject({ code: 5, out: '' });

    const jobToReject = await submitJob({ requires_approval: true });
    const rejected = await jobs(['reject', jobToReject, '--reason', 'too many steps']);
    expect(rejected).toMatchObject({ code: 0, err: '' });
    expect(rejected.out).toMatch(/^Status +failed$.*^Cause +rejected\nMessage +.*too many steps$/ms);
  });
});

describe('job commands', () => {
  test('retries an ended job as a new job, and deletes the ended job after a confirmation', async () => {
    const id = await submitJob({ priority: 20 });
    expect(await jobs(['retry', id])).toMatchObject({ code: 5, out: '' });
    expect(await jobs(['delete', id, '--yes'])).toMatchObject({ code: 5, out: '' });
    await jobs(['cancel', id]);
    const retryRun = await jobs(['retry', id, '-o', 'job_id,status']);
    const [next = '', status] = retryRun.out.trimEnd().split('\t');
    expect([retryRun.code, status]).toEqual([0, 'queued']);
    expect(await getJob(next)).toMatchObject({ retry_of: id, priority: 20, worker_labels: { gpu: 'none' } });
    expect((await jobs(['get', next])).out).toMatch(new RegExp(`^Retry of +${id}$`, 'm'));

    const declined = await jobs(['delete', id], { answer: '' });
    expect(declined).toMatchObject({ code: 1, out: '' });
    expect(declined.questions).toEqual([
      expect.stringContaining(`Delete job ${id} (digits) with its files and logs?`),
    ]);
    expect((await jobs(['delete', id])).out).toBe(`Deleted  ${id} (digits)\n`);
    expect((await jobs(['get', id])).code).toBe(4);
  });

  test('dispatches a --no-wait job immediately, or rejects it with the reason', async () => {
    const rejectedRun = await jobs(['submit', 'digits', '--no-wait', '--label', 'gpu=a100*']);
    expect(rejectedRun).toMatchObject({ code: 7, out: '' });
    expect(rejectedRun.err).toMatch(/^Job not submitted: No idle workers: /);
    const json = await jobs(['submit', 'digits', '--no-wait', '--label', 'gpu=a100*', '--json']);
    expect(json.code).toBe(7);
    expect(JSON.parse(json.out)).toMatchObject({ success: false, status: 'rejected', job_id: null });
    expect((await jobs(['list', '--active'])).out).toBe('');

    const worker = await startWorker('quick', { gpu: 'a100-80gb' });
    const dispatched = await jobs(['submit', 'digits', '--no-wait', '--label', 'gpu=a100*', '--gpus', '2']);
    const [, id = ''] = /^Job +(j_\w+)\n/.exec(dispatched.out) ?? [];
    expect(dispatched).toMatchObject({ code: 0, out: `Job     ${id}\nWorker  ${worker.id}\nGPUs    0, 1\n` });
    expect((await jobs(['get', id])).out).toMatch(/^User +admin\nWorker +quick .*\nGPUs +0, 1$/m);
    // The worker has a job now, so the next submission is rejected.
    expect((await jobs(['submit', 'digits', '--no-wait', '--label', 'gpu=a100*'])).code).toBe(7);
    await worker.complete();
  });

  test('follows a --no-wait job to its end when --wait is given too', async () => {
    const worker = await startWorker('steady', { gpu: 'h100' });
    const args = ['submit', 'digits', '--label', 'gpu=h100', '-o', 'status'];
    for (const waitFlags of [
      ['--wait', '--no-wait'],
      ['--no-wait', '--wait'],
    ]) {
      const run = jobs([...args, ...waitFlags]);
      await worker.complete();
      expect(await run).toMatchObject({ code: 0, out: 'completed\n' });
    }
  });

  test('creates one job for repeated submits with the same idempotency key', async () => {
    const args = ['submit', 'digits', '--label', 'gpu=none', '--idempotency-key', 'night-7', '-o', 'job_id'];
    const first = await jobs(args);
    expect(first.code).toBe(0);
    expect((await jobs(args)).out).toBe(first.out);
    const conflictingRun = await jobs([...args, '--priority', 'high']);
    expect(conflictingRun).toMatchObject({ code: 7, out: '' });
    expect(conflictingRun.err).toContain(first.out.trim());
  });

  test('ignores the GPUs that a config names when --any-gpu is given', async () => {
    server.config('picky', { accelerate_visible_devices: [3] });
    const args = ['submit', 'picky', '--label', 'gpu=none', '-o', 'job_id'];
    const withNamedGpus = await getJob((await jobs(args)).out.trim());
    const withAnyGpu = await getJob((await jobs([...args, '--any-gpu'])).out.trim());
    expect([withNamedGpus.gpu_count, withAnyGpu.gpu_count]).toEqual([4, 0]);
  });
});

describe('jobs why', () => {
  test('explains why a job is pending, and what each worker lacks', async () => {
    const worker = await startWorker('small', { gpu: 'none' }, 1);
    await queue(['pause', '--note', 'new fans']);
    const id = await server.submit({ config_name: 'digits', worker_labels: { gpu: 'none' }, gpu_count: 4 });
    const { code, out } = await jobs(['why', 'digits']);
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(`^Job +${id}\\nStatus +pending\\nWhy +The queue is paused by admin: new fans`),
    );
    expect(out).toMatch(/^Unschedulable +No registered worker/m);
    expect(out).toMatch(/^ *(Workers +)?small: \S.*4/m);
    const fields = await jobs(['why', id, '-o', 'job_id,unsatisfiable,reasons.0.code']);
    expect(fields.out).toBe(`${id}\ttrue\tpaused\n`);
    await queue(['resume']);

    const running = await server.submit({ config: {}, worker_labels: { gpu: 'none' } });
    expect((await jobs(['why', running])).out).toMatch(
      /^Job .*\nStatus +dispatched\nWhy +The job is not pending\n$/,
    );
    await worker.complete();
    expect(await jobs(['why', 'j_none'])).toMatchObject({ code: 4, out: '' });
  });

  test('explains in a dry run whether the job would start, wait or be rejected', async () => {
    const before = (await jobs(['list', '--all', '-o', 'id'])).out;
    const pendingRun = await jobs(['submit', 'digits', '--dry-run', '--label', 'gpu=none', '--gpus', '9']);
    expect(pendingRun).toMatchObject({ code: 0, err: 'Nothing was submitted\n' });
    expect(pendingRun.out).toMatch(/^Dry run +would be queued\nTrainer +command\nNeeds +9 GPUs\nWhy +\S/);
    const blocked = await jobs(['submit', 'digits', '--dry-run', '--requires-approval', '--json']);
    expect(JSON.parse(blocked.out)).toMatchObject({ dry_run: true, status: 'blocked', job_id: null });
    const rejected = await jobs(['submit', 'digits', '--dry-run', '--no-wait', '--label', 'gpu=no-such']);
    expect(rejected).toMatchObject({ code: 7, out: expect.stringMatching(/^Dry run +would be rejected\n/) });
    expect(rejected.err).toMatch(/^The job would be rejected: No idle workers/);
    const worker = await startWorker('tried', { gpu: 'tried' });
    const startingRun = await jobs(['submit', 'digits', '--dry-run', '--label', 'gpu=tried', '--gpus', '1']);
    expect(startingRun.out).toBe(
      `Dry run  would start now\nWorker   ${worker.id}\nGPUs     0\nTrainer  command\nNeeds    1 GPU\n`,
    );
    expect((await jobs(['list', '--all', '-o', 'id'])).out).toBe(before);
  });
});

describe('jobs list', () => {
  test('filters the list of jobs by status, user, worker and text', async () => {
    const worker = await startWorker('lister', { gpu: 'l40' });
    const live = await server.submit({ config: {}, config_name: 'École', worker_labels: { gpu: 'l40' } });
    const [firstPending, secondPending] = [await submitJob(), await submitJob()];
    await jobs(['cancel', secondPending]);
    const ids = async (...args: readonly string[]) => {
      const run = await jobs(['list', '-o', 'id', ...args]);
      expect(run.code).toBe(0);
      return run.out.split('\n').slice(0, -1);
    };
    expect(await ids('--status', 'queued,dispatched')).toEqual([firstPending, live]);
    expect(await ids('--active', '--mine')).toEqual([firstPending, live]);
    expect(await ids('--user', 'nobody')).toEqual([]);
    for (const word of ['lister', worker.id, worker.id.slice(0, 7)])
      expect(await ids('--worker', word)).toEqual([live]);
    expect(await ids('--search', 'École')).toEqual([live]);
    expect(await ids('--search', secondPending.slice(2).toUpperCase())).toEqual([secondPending]);
    expect((await getJob('École')).id).toBe(live);

    await worker.complete();
    await worker.leave();
    expect((await runTrainyard(['workers', 'delete', 'lister', '--data-dir', server.dataDir])).code).toBe(0);
    // The worker is deleted, but its jobs are kept.
    expect(await ids('--worker', worker.id)).toEqual([live]);
    expect(await jobs(['list', '--worker', 'lister'])).toMatchObject({ code: 4, out: '' });
  });

  test("lists the jobs of the token's user with --mine", async () => {
    const requests: (string | undefined)[] = [];
    const totals = { total_pending: 0, total_running: 0, as_of_seq: 0, next_cursor: null };
    const me = { user: 'ada', user_max_concurrent: null, next_position: null, pending: 0, running: 0 };
    const stub = createServer(({ url }, response) => {
      requests.push(url);
      const answer = url === '/api/queue/me' ? me : totals;
      response.end(JSON.stringify({ entries: [], ...answer }));
    });
    await new Promise<void>(resolve => {
      stub.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void stub.close());
    const url = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    const run = await runTrainyard(['jobs', 'list', '--mine', '--url', url], {
      env: { ADMIN_TOKEN: 'ta_x' },
    });
    expect(run).toMatchObject({ code: 0, err: 'No matching jobs\n' });
    expect(requests).toEqual(['/api/queue/me', '/api/queue?user=ada']);
  });

  test('truncates the list of jobs at the limit with a hint, and lists everything with --all', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift(await submitJob());
    const page = await jobs(['list', '--active', '--limit', '2', '-o', 'id']);
    expect(page).toMatchObject({
      code: 0,
      out: `${ids[0]}\n${ids[1]}\n`,
      err: 'Not all results are shown. To list all, use --all\n',
    });
    const all = await jobs(['list', '--active', '--all', '--json']);
    expect(all).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(all.out)).toMatchObject({ entries: ids.map(id => ({ id })), next_cursor: null });
  });

  test('returns every job once across pages while new jobs are submitted', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift(await submitJob());
    const flags = { 'data-dir': server.dataDir };
    const terminal = {
      out: ignore,
      err: ignore,
      outScreen: () => null,
      errScreen: () => null,
      ask: null,
      stdin: null,
    };
    const remote = openRemote(flags, { env: {}, terminal });
    let pages = 0;
    const countingRemote: Pick<typeof remote, 'request'> = {
      async request(row, input) {
        pages += 1;
        const answer = await remote.request(row, input);
        await submitJob();
        return answer;
      },
    };
    const { entries } = await everyPage(countingRemote, { include_completed: 'false' }, 2);
    expect([pages, entries.map(({ id }) => id)]).toEqual([3, ids]);
  });
});

describe('usage errors of queue and jobs', () => {
  test.each<[string, number, Run, readonly string[], RegExp]>([
    ['a limit that is not a number', 2, queue, ['limits', '--max', 'many'], /whole number/],
    ['a limit above the maximum', 2, queue, ['limits', '--user-max', '100001'], /^--user-max: /],
    ['a negative limit', 2, queue, ['limits', '--max', '-1'], /whole number/],
    [
      'a pause note of two lines',
      2,
      queue,
      ['pause', '--note', 'a\nb'],
      /^--note: must not contain line breaks/,
    ],
    ['a missing age', 2, queue, ['cleanup'], /--older-than/],
    ['an age without a unit', 2, queue, ['cleanup', '--older-than', '30'], /with a unit, such as 30d/],
    ['an invalid age', 2, queue, ['cleanup', '--older-than', 'old'], /30m, 12h or 2d/],
    ['an unknown queue command', 2, queue, ['stop'], /unknown command 'stop'/],
    ['a wrong token', 3, queue, ['pause', '--token', 'ta_wrong'], /Invalid token/],
    ['an unknown status', 2, jobs, ['list', '--status', 'pending,lost'], /Unknown status "lost".*recovering/],
    ['--mine with --user', 2, jobs, ['list', '--mine', '--user', 'x'], /cannot be used with option '--user/],
    [
      '--all with --limit',
      2,
      jobs,
      ['list', '--all', '--limit', '5'],
      /cannot be used with option '-l, --limit/,
    ],
    ['an unknown worker', 4, jobs, ['list', '--worker', 'nobody'], /No worker "nobody"/],
    ['an unknown priority', 2, jobs, ['priority', 'x', 'asap'], /low, normal, high/],
    ['a missing priority', 2, jobs, ['priority', 'x'], /missing required argument 'priority'/],
    ['an unknown job', 4, jobs, ['top', 'j_none'], /No job "j_none"/],
    [
      'a reject reason of two lines',
      2,
      jobs,
      ['reject', 'x', '--reason', 'a\nb'],
      /^--reason: must not contain line breaks/,
    ],
    ['--dry-run with --wait', 2, jobs, ['submit', 'digits', '--dry-run', '--wait'], /cannot be used with/],
    [
      'an idempotency key with a space',
      2,
      jobs,
      ['submit', 'digits', '--idempotency-key', 'a b'],
      /^--idempotency-key: /,
    ],
    [
      '--no-wait with --requires-approval',
      2,
      jobs,
      ['submit', 'digits', '--no-wait', '--requires-approval'],
      /^--no-wait: a job that waits for approval/,
    ],
  ])('fails with a reason and prints nothing to stdout for %s', async (_what, code, run, args, message) => {
    const outcome = await run(args);
    expect(outcome).toMatchObject({ code, out: '' });
    expect(outcome.err).toMatch(message);
  });

  test('exits with 5 when an ended job is moved, approved or rejected', async () => {
    const id = await submitJob();
    await jobs(['cancel', id]);
    for (const args of [
      ['top', id],
      ['priority', id, 'high'],
      ['approve', id],
      ['reject', id],
    ])
      expect(await jobs(args)).toMatchObject({ code: 5, out: '' });
  });
});
