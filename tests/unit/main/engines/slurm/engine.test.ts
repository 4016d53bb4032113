import { describe, expect, it } from 'vitest';
import type { ProgramOptions, ProgramResult } from '../../../../../main/engines/run-program.ts';
import { createRunProgram } from '../../../../../main/engines/run-program.ts';
import { createSlurmEngine } from '../../../../../main/engines/slurm/index.ts';
import { LaunchId } from '../../../../../protocol/ids.ts';
import { orderOf } from '../../../../support/engine-contract.ts';
import { slurmSettings } from '../../../../support/slurm-lab.ts';

type Call = readonly [argv: readonly string[], options: ProgramOptions];

/** Creates an engine whose programs return `results`, by program name. Other programs succeed and print nothing. */
function openEngine(results: Readonly<Record<string, Partial<ProgramResult>>>, login: string | null = null) {
  const calls: Call[] = [];
  const engine = createSlurmEngine({
    fleet: 'f1',
    settings: slurmSettings({ login }),
    largest: { gpus: 1, wallTimeS: 60 },
    start: order => `exec worker ${order.workerName}`,
    run: (argv, options) => {
      calls.push([argv, options]);
      // Over ssh, the last argument is the whole command line.
      const commandLine = (login === null ? argv[0] : argv.at(-1)) ?? '';
      const name = /squeue|scancel|sinfo|sbatch/.exec(commandLine)?.[0];
      return Promise.resolve({ code: 0, stdout: '', stderr: '', timedOut: false, ...results[name ?? ''] });
    },
  });
  const commands = () => calls.map(([argv]) => argv.filter(word => !word.startsWith('--format')).join(' '));
  return { engine, calls, commands };
}

const ids = [LaunchId.parse('l1'), LaunchId.parse('l2')];
// Returns the output of squeue for these jobs.
const queue = (...rows: readonly (readonly [launch: string, id: string, state: string])[]) => ({
  squeue: {
    stdout: rows
      .map(([launch, id, state]) =>
        [`trainyard-f1-${launch}`, id, state, 'None', 'N/A', 'N/A', ''].join('\u001F'),
      )
      .map(line => `${line}\n`)
      .join(''),
  },
});
const squeueCommand = 'squeue --me --all --states=all --noheader';

describe('end of Slurm launches', () => {
  it('cancels only unfinished jobs with the names of the launches', async () => {
    const jobs = queue(
      ['l1', '1', 'RUNNING'],
      ['l1', '2', 'PENDING'],
      ['l2', '3', 'COMPLETED'],
      ['l3', '4', 'RUNNING'],
    );
    const { engine, commands } = openEngine(jobs);
    await engine.end(ids, 'now');
    expect(commands()).toEqual([squeueCommand, 'scancel 1 2']);
  });

  it('signals running jobs and cancels pending jobs when launches should end gracefully', async () => {
    const { engine, commands } = openEngine(queue(['l1', '1', 'RUNNING'], ['l2', '2', 'PENDING']));
    await engine.end(ids, 'ask');
    expect(commands()).toEqual([
      squeueCommand,
      'scancel --state=PENDING 1 2',
      'scancel --batch --signal=TERM 1 2',
    ]);
  });

  it('cancels nothing when no job has the name of a launch', async () => {
    const { engine, commands } = openEngine(queue(['l3', '4', 'RUNNING']));
    await engine.end(ids, 'now');
    await engine.end([], 'now');
    expect(commands()).toEqual([squeueCommand]);
  });

  it.each([
    ['scancel: error: Kill job error on job id 1: Job/step already completing or completed\n', 1],
    ['scancel: error: Kill job error on job id 1: Invalid job id specified\n', 1],
    ['', 229],
  ])('ignores the scancel error %j because the job has already ended', async (stderr, code) => {
    const { engine } = openEngine({ ...queue(['l1', '1', 'RUNNING']), scancel: { code, stderr } });
    await expect(engine.end(ids, 'now')).resolves.toBeUndefined();
  });

  it.each([
    [
      { code: 1, stderr: 'scancel: error: Kill job error on job id 1: Access/permission denied\n' },
      /permission denied/,
    ],
    [{ code: 1, stderr: '' }, /exit code 1/],
    [{ code: null, timedOut: true }, /did not answer in time/],
  ])('throws when scancel fails with %o', async (scancel, message) => {
    await expect(
      openEngine({ ...queue(['l1', '1', 'RUNNING']), scancel }).engine.end(ids, 'now'),
    ).rejects.toThrow(message);
  });
});

describe('list of Slurm launches', () => {
  it.each([
    [
      { code: 1, stderr: 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n' },
      /Unable/,
    ],
    [{ code: null, timedOut: true, stdout: 'trainyard-f1-l1' }, /did not answer in time/],
    [{ stdout: 'trainyard-f1-l1\u001F1\u001FRUN' }, /only a part/],
  ])('throws when squeue returns %o', async (squeue, message) => {
    await expect(openEngine({ squeue }).engine.list()).rejects.toThrow(message);
  });
});

describe('environment of Slurm commands', () => {
  it('passes the token only to sbatch, and removes variables that hide jobs', async () => {
    const { engine, calls } = openEngine({ sbatch: { stdout: '5\n' } });
    await engine.launch(orderOf(ids[0]!, { joinToken: 'tj_secret' }));
    await engine.list();
    const [submitted, listed] = calls.map(([, { env }]) => env);
    expect(submitted).toMatchObject({ TRAINYARD_JOIN: 'tj_secret' });
    expect(listed).toMatchObject({ TRAINYARD_JOIN: undefined, SLURM_TIME_FORMAT: '%s' });
    expect(listed).toHaveProperty('SQUEUE_STATES', undefined);
    expect(JSON.stringify(calls.map(([argv, { stdin }]) => [argv, stdin]))).not.toContain('tj_secret');
  });
});

describe('Slurm commands over ssh', () => {
  it('sends the token over ssh as the first line of stdin, and puts the host after "--"', async () => {
    const { engine, calls } = openEngine({ sbatch: { stdout: '5\n' } }, 'me@login');
    await engine.launch(orderOf(ids[0]!, { joinToken: 'tj_secret' }));
    const [argv = [], options] = calls[0] ?? [];
    expect(argv.slice(0, -1)).toEqual([
      'ssh',
      '-T',
      '-o',
      'BatchMode=yes',
      '-o',
      'ConnectTimeout=15',
      '--',
      'me@login',
    ]);
    expect(options?.stdin).toMatch(/^tj_secret\n#!\/bin\/bash\n/);
    expect(argv.join(' ')).not.toContain('tj_secret');
  });

  it('quotes each argument of a Slurm command for the shell of the login machine', async () => {
    const { engine, calls } = openEngine({}, 'login');
    await engine.list();
    const line = calls[0]?.[0].at(-1) ?? '';
    const run = createRunProgram({ PATH: process.env['PATH'], SQUEUE_STATES: 'CANCELLED' });
    // Instead of squeue, the command line prints the environment and the arguments.
    const script = `squeue() { :; }; ${line.replace('exec sh', 'sh').replace('exec "$0"', 'printf "%s\\n" "${SQUEUE_STATES-unset} $SLURM_TIME_FORMAT" "$0"')}`;
    const { stdout } = await run(['sh', '-c', script], { timeoutMs: 10_000, stdin: '\n' });
    expect(stdout.split('\n')).toEqual([
      'unset %s',
      'squeue',
      '--me',
      '--all',
      '--states=all',
      '--noheader',
      '--format=%j\u001F%i\u001F%T\u001F%r\u001F%S\u001F%e\u001F%N',
      '',
    ]);
  });
});

describe('check of a Slurm pool', () => {
  it('reports a missing Slurm program, and an unreachable controller', async () => {
    const missing = { code: 127, stderr: 'sbatch: not found' };
    expect(await openEngine({ sbatch: missing }).engine.check()).toMatchObject({
      ok: false,
      version: null,
      detail: 'sbatch was not found: sbatch: not found',
    });
    const unreachable = { code: 1, stderr: 'slurm_load_partitions: Unable to contact slurm controller\n' };
    expect(await openEngine({ sinfo: unreachable }).engine.check()).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^sinfo failed .*Unable to contact/),
    });
  });
});
