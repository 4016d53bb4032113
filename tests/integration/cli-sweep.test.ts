/** `trainyard jobs` with names, tags, groups and sweeps, in this process against a server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliOptions, runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { openRig, startJob } from '../support/upload-bench.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  server.config('flowers', { model_type: 'lora', learning_rate: 1, train: { rank: 4 } });
});
afterAll(() => server.close());

const jobs = (args: readonly string[], options?: CliOptions) =>
  runTrainyard(['jobs', ...args, '--data-dir', server.dataDir], options);
const rows = (out: string): readonly (readonly string[])[] =>
  out
    .trimEnd()
    .split('\n')
    .map(line => line.split(/ {2,}/));

describe('trainyard jobs submit --sweep', () => {
  it('submits all jobs of a sweep in one call, and prints each job with its values', async () => {
    const args = ['submit', 'flowers', '--sweep', 'learning_rate=1e-4,3e-4', '--sweep', 'train.rank=8,16'];
    const { code, out, err } = await jobs([...args, '--group', 'grid', '--tag', 'a', '--tag', 'b']);
    expect({ code, err }).toEqual({ code: 0, err: 'Submitted 4 jobs in group grid\n' });
    const [head, ...lines] = rows(out);
    expect(head).toEqual(['ID', 'learning_rate', 'train.rank', 'NAME']);
    expect(lines.map(([, ...values]) => values)).toEqual([
      ['0.0001', '8', 'flowers learning_rate=0.0001 rank=8'],
      ['0.0001', '16', 'flowers learning_rate=0.0001 rank=16'],
      ['0.0003', '8', 'flowers learning_rate=0.0003 rank=8'],
      ['0.0003', '16', 'flowers learning_rate=0.0003 rank=16'],
    ]);
    const jobList = JSON.parse((await jobs(['list', '--group', 'grid', '--tag', 'b', '--json'])).out) as {
      entries: { sweep: object; tags: readonly string[] }[];
    };
    expect(jobList.entries.map(({ sweep }) => sweep)).toContainEqual({
      learning_rate: 3e-4,
      'train.rank': 16,
    });
    expect(jobList.entries[0]?.tags).toEqual(['a', 'b']);
  });

  it('prints the jobs of a sweep in a dry run without submitting them', async () => {
    const { code, out, err } = await jobs(['submit', 'flowers', '--sweep', 'learning_rate=1,2', '--dry-run']);
    expect(code).toBe(0);
    expect(err).toBe('2 jobs in the grid. Nothing was submitted\n');
    expect(rows(out)[1]).toEqual(['-', '1', 'flowers learning_rate=1']);
  });

  it('parses the values of a sweep as YAML', async () => {
    const args = ['submit', 'flowers', '--sweep', 'x=true,null,"8",a b', '--dry-run', '--json'];
    const answer = JSON.parse((await jobs(args)).out) as { jobs: { sweep: { x: unknown } }[] };
    expect(answer.jobs.map(({ sweep }) => sweep.x)).toEqual([true, null, '8', 'a b']);
  });

  it('submits a sweep once per idempotency key', async () => {
    const args = ['submit', 'flowers', '--sweep', 'learning_rate=1,2', '--idempotency-key', 'k'];
    const first = await jobs([...args, '-o', 'job_id']);
    const repeatedRun = await jobs([...args, '-o', 'job_id']);
    expect(repeatedRun.out).toBe(first.out);
    expect(repeatedRun.err).toMatch(/^Already submitted: 2 jobs in group flowers-/);
  });

  it.each([
    [['--sweep', 'rate'], /KEY=VALUE,VALUE/],
    [['--sweep', 'rate='], /single values/],
    [['--sweep', 'rate=[1'], /single values/],
    [['--sweep', 'rate=a: b'], /single values/],
    [['--sweep', 'lr=1,1'], /--sweep: the same value is given twice/],
    [['--sweep', 'lr=1', '--sweep', 'lr=2'], /--sweep: the same key is given twice/],
    [['--sweep', 'missing.key=1'], /no value "missing.key" to vary/],
    [['--sweep', 'lr=1,2', '--no-wait'], /--no-wait: the jobs of a sweep may wait/],
    [['--sweep', 'lr=1,2', '--wait'], /cannot be used with option '--wait'/],
    [['--tag', 'two words'], /--tag: must start with a letter/],
  ])('refuses to submit with %j', async (args, message) => {
    const { code, err } = await jobs(['submit', 'flowers', ...args]);
    expect(err).toMatch(message);
    expect(code).not.toBe(0);
  });
});

describe('trainyard jobs submit with several configs', () => {
  it('submits one job for each of several configs, all with the same options', async () => {
    const args = ['submit', 'flowers', './examples/digits/configs/digits-quick.json', '--group', 'both'];
    const { code, out, err } = await jobs([...args, '--no-data']);
    expect({ code, err }).toEqual({ code: 0, err: 'Submitted 2 jobs\n' });
    expect(rows(out).map(([, config]) => config)).toEqual(['CONFIG', 'flowers', 'digits-quick']);
    const jobList = JSON.parse((await jobs(['list', '--group', 'both', '--json'])).out) as {
      entries: object[];
    };
    expect(jobList.entries).toHaveLength(2);
  });

  it('submits several configs only once per idempotency key, and not in a dry run', async () => {
    const args = ['submit', 'flowers', 'flowers'];
    expect(await jobs([...args, '--dry-run'])).toMatchObject({
      code: 0,
      err: '2 jobs would be submitted. Nothing was submitted\n',
    });
    const argsWithKey = [...args, '--idempotency-key', 'several', '-o', 'job_id'];
    const first = await jobs(argsWithKey);
    expect(await jobs(argsWithKey)).toMatchObject({ out: first.out, err: 'Already submitted: 2 jobs\n' });
  });

  it.each([
    [['--wait'], /--wait works with one config/],
    [['--no-wait'], /--no-wait works with one config/],
    [['--sweep', 'lr=1,2'], /--sweep works with one config/],
    [['--priority', '51'], /priority/],
  ])('refuses several configs with %j', async (args, message) => {
    const { code, err } = await jobs(['submit', 'flowers', 'flowers', ...args]);
    expect(err).toMatch(message);
    expect(code).not.toBe(0);
  });

  it('submits no job when one of several configs does not exist, and names that config', async () => {
    const { code, err } = await jobs(['submit', 'flowers', 'lost', '--group', 'none']);
    expect(err).toMatch(/jobs\.1: .*lost/);
    expect(code).not.toBe(0);
    expect((await jobs(['list', '--group', 'none'])).out).not.toContain('flowers');
  });
});

describe('trainyard jobs edit', () => {
  it('changes name, notes and tags of a job, and finds the job by its new name', async () => {
    const id = await server.submit({ config_name: 'flowers', tags: ['old'] });
    const args = [
      'edit',
      id,
      '--name',
      'low rate',
      '--notes',
      'first try',
      '--tag',
      'new',
      '--remove-tag',
      'old',
    ];
    const { code, out } = await jobs(args);
    expect(code).toBe(0);
    expect(out).toMatch(/^Name +low rate$/m);
    expect((await jobs(['get', 'low rate'])).out).toMatch(/^Notes +first try$/m);
    expect((await jobs(['list', '--tag', 'new'])).out).toContain('low rate');
    const removed = JSON.parse((await jobs(['edit', 'low rate', '--name', '', '--notes', '', '--json'])).out);
    expect(removed).toMatchObject({ id, name: null, notes: null, tags: ['new'] });
  });

  it('refuses to give a job a name with a line break', async () => {
    const id = await server.submit({ config_name: 'flowers' });
    const { code, err } = await jobs(['edit', id, '--name', 'a\nb']);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('--name:') });
  });
});

describe('jobs of a group', () => {
  it('compares the jobs of a group, retries each failed job once, and cancels the rest', async () => {
    // The rig would take a pending job of another test first.
    expect((await jobs(['cancel', '--all', '--yes'])).code).toBe(0);
    const rig = await openRig(server);
    const failed = await startJob(server, rig, {
      config: { model_type: 'lora', lr: 1 },
      group: 'few',
      max_retries: 0,
    });
    await rig.report(failed, 'failed', { exit_code: 1, error: 'boom' });
    const pendingJob = await server.submit({
      config: { model_type: 'lora', lr: 2 },
      group: 'few',
      gpu_count: 64,
    });
    const compared = JSON.parse((await jobs(['compare', '--group', 'few', '--json'])).out);
    expect(compared).toMatchObject({
      keys: ['lr'],
      jobs: [
        { job_id: failed.jobId, config: { lr: 1 }, status: 'failed' },
        { job_id: pendingJob, config: { lr: 2 } },
      ],
    });
    const retried = await jobs(['retry', '--group', 'few', '--yes']);
    expect(retried.code).toBe(0);
    expect(retried.out).toMatch(/retried as j_/);
    expect((await jobs(['retry', '--group', 'few', '--yes'])).err).toBe('No matching jobs\n');
    const cancelled = await jobs(['cancel', '--group', 'few', '--yes', '-o', 'job_id']);
    expect(cancelled.code).toBe(0);
    expect(cancelled.out.split('\n')).toContain(pendingJob);
    const unfinished = await jobs(['list', '--group', 'few', '--status', 'pending,running', '-o', 'id']);
    expect(unfinished.out).toBe('');
  });

  it.each([
    [['retry'], /Specify a job, or --group GROUP/],
    [['retry', 'x', '--group', 'g'], /Specify a job, or --group GROUP/],
    [['retry', '--group', 'g', '--wait'], /--wait and --follow are for a single job/],
    [['cancel', 'x', '--group', 'g'], /Specify a job, --status STATUS, --group GROUP/],
    [['compare', '--group', 'empty'], /at least two different jobs/],
    [['list', '--group', 'two words'], /--group: must start/],
  ])('refuses jobs %j', async (args, message) => {
    const { code, err } = await jobs(args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
