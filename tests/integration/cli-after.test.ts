/** `trainyard jobs submit --after` and `--input`, in this process against a server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let base: string;
beforeAll(async () => {
  server = await startTestServer();
  base = await server.submit({ name: 'flux-base', config: {} });
});
afterAll(() => server.close());

const jobs = (...args: readonly string[]) => runTrainyard(['jobs', ...args, '--data-dir', server.dataDir]);
const submit = (...args: readonly string[]) => {
  server.config('flowers', {});
  return jobs('submit', 'flowers', ...args);
};
const idIn = (out: string): string => /j_\w+/.exec(out)?.[0] ?? '';

describe('trainyard jobs submit --after', () => {
  it('submits a job that waits for jobs given by id, start of an id and name', async () => {
    const first = await submit('--name', 'upscaler', '--after', 'flux-base');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toContain('Waits for flux-base (pending)');
    const upscaler = idIn(first.out);
    const args = ['--after', base.slice(0, -1), '--after', base, '--after', upscaler];
    const second = await submit('--name', 'report', ...args, '--after-on', 'end');
    expect(second.out).toContain('Waits for 2 jobs: flux-base (pending), upscaler (pending)');
    const details = (await jobs('get', idIn(second.out))).out;
    expect(details).toMatch(
      new RegExp(
        `After +flux-base \\(${base}\\)  pending, whatever its outcome\\n +upscaler \\(${upscaler}\\)`,
      ),
    );
    expect((await jobs('get', 'upscaler')).out).toMatch(/Then +report \(j_\w+\) {2}pending/);
    expect((await jobs('why', 'upscaler')).out).toMatch(/Why +Waits for flux-base \(pending\)/);
  });

  it('prints the parents of a job in a dry run, and gives each job of a sweep these parents', async () => {
    const dryRun = await submit('--after', 'flux-base', '--dry-run');
    expect(dryRun.out).toMatch(/Why +Waits for flux-base/);
    const sweep = await submit('--after', base, '--sweep', 'rank=1,2', '--json');
    const { jobs: sweepJobs } = JSON.parse(sweep.out) as {
      readonly jobs: readonly { readonly job_id: string }[];
    };
    const details = await Promise.all(sweepJobs.map(({ job_id: id }) => jobs('get', id)));
    expect(details.every(({ out }) => out.includes('Waits for flux-base'))).toBe(true);
  });

  it('takes input files of jobs given by name or id, and waits for these jobs', async () => {
    const withInput = await submit('--name', 'styled', '--input', 'lora=flux-base:checkpoint best');
    expect(withInput).toMatchObject({ code: 0, err: '' });
    expect(withInput.out).toContain('Waits for flux-base (pending)');
    const args = [
      '--input',
      `weights=${base}`,
      '--input',
      'log=flux-base:logs/train.txt',
      '--after-on',
      'end',
    ];
    const details = (await jobs('get', idIn((await submit(...args)).out))).out;
    expect(details).toMatch(new RegExp(`After +flux-base \\(${base}\\)  pending, whatever its outcome`));
    expect(details).toMatch(
      new RegExp(`Inputs +weights  result of flux-base \\(${base}\\)\n +log  logs/train.txt of flux-base`),
    );
  });

  it.each([
    [['--input', 'lora'], 2, /--input lora: expected NAME=JOB:FILE/],
    [['--input', 'lora=nobody:result'], 4, /nobody/],
    [['--input', 'LORA=flux-base'], 2, /--input/],
    [['--input', 'lora=flux-base:../up'], 2, /--input.*expected result, checkpoint best/],
    [['--input', 'a=flux-base', '--input', 'a=flux-base'], 2, /the same name is given twice/],
    [['--after', 'nobody'], 4, /nobody/],
    [['--after-on', 'end'], 2, /--after-on needs --after or --input/],
    [['--after', 'flux-base', '--after-on', 'luck'], 2, /success, end/],
    [['--after', 'flux-base', '--no-wait'], 7, /Waits for flux-base/],
  ])('refuses to submit with %j', async (args, code, text) => {
    const failedRun = await submit(...args);
    expect([failedRun.code, failedRun.out]).toEqual([code, '']);
    expect(failedRun.err).toMatch(text);
  });
});
