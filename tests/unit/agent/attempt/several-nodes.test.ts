import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkSharedFolder, firstRankOf, nodesIn, onNodes } from '../../../../agent/attempt/several-nodes.ts';
import { prepareJob } from '../../../../agent/attempt/trainer.ts';
import type { PreparedJob } from '../../../../agent/job.ts';
import type { CommandResult } from '../../../../agent/process/run-command.ts';
import { aiToolkit, kohya, simpletuner } from '../../trainers/configs.ts';
import { offerOf, rigOf, tempFolder } from '../builders.ts';

const nodes = { count: 3, address: 'node-1', port: 21_234 };

describe('nodesIn', () => {
  test("reads the nodes that a pool's batch script exports", () => {
    const env = { TRAINYARD_NODES: '3', MASTER_ADDR: 'node-1', MASTER_PORT: '21234' };
    expect(nodesIn(env)).toEqual(nodes);
  });

  test.each([
    {},
    { TRAINYARD_NODES: '1', MASTER_ADDR: 'node-1', MASTER_PORT: '21234' },
    { MASTER_ADDR: 'node-1', MASTER_PORT: '21234' },
    { TRAINYARD_NODES: '3' },
  ])('returns null for the environment %j of a single node', env => expect(nodesIn(env)).toBeNull());
});

describe('a job on several nodes', () => {
  const job: PreparedJob = {
    argv: ['/opt/train', 'a b', ''],
    cwd: '/',
    env: { PATH: '/bin' },
    folder: '/shared/j_1',
    outputDir: '/shared/j_1/output',
    samplesAreFiles: false,
    dataTargets: [],
    logFile: '/shared/j_1/trainer.log',
  };

  test('starts the same command on each node with srun', () => {
    const { argv, ...rest } = onNodes(job, nodes, 8);
    expect(argv.slice(0, 2)).toEqual(['bash', '-c']);
    // The skipped arguments contain the script that bash runs.
    expect(argv.slice(5)).toEqual([
      '/shared/j_1/first-rank.pid',
      '--overlap --nodes=3 --ntasks=3 --ntasks-per-node=1 --mpi=none --kill-on-bad-exit=1 --disable-status',
      ...job.argv,
    ]);
    expect(rest).toEqual({ ...job, argv: undefined, env: rest.env });
  });

  test.each([
    [8, '24'],
    [0, '3'],
  ])('sets WORLD_SIZE for %d GPUs per node to %s', (gpus, worldSize) => {
    expect(onNodes(job, nodes, gpus).env).toMatchObject({
      PATH: '/bin',
      MASTER_ADDR: 'node-1',
      MASTER_PORT: '21234',
      NNODES: '3',
      WORLD_SIZE: worldSize,
    });
  });
});

describe('trainers on several nodes', () => {
  const argumentsFor = (config: object, rig: Parameters<typeof rigOf>[1]) => {
    const prepared = prepareJob(
      offerOf('j1', 'a1', { config: { ...config }, gpus: [0, 1] }),
      rigOf(tempFolder(), { ...rig, nodes }),
    );
    return prepared.ok ? prepared.job.argv.slice(7) : prepared.message;
  };
  const machines = [
    '--num_machines=3',
    '--machine_rank=',
    '--main_process_ip=node-1',
    '--main_process_port=21234',
  ];

  test('starts SimpleTuner through accelerate with an empty machine rank, which each node fills in', () => {
    const trainers = [{ kind: 'package', name: 'simpletuner', python: '/opt/st/bin/python' }] as const;
    const argv = argumentsFor(simpletuner, { trainers });
    expect(argv).toEqual(expect.arrayContaining(['--multi_gpu', '--num_processes=6', ...machines]));
    expect(argv).not.toContain('--num_machines=1');
    const withOwnConfig = argumentsFor(
      { ...simpletuner, accelerate_config: '/shared/accelerate.yaml' },
      { trainers, allowedConfigKeys: ['accelerate_config'] },
    );
    expect(withOwnConfig).toEqual(
      expect.arrayContaining(['--config_file=/shared/accelerate.yaml', '--num_processes=6', ...machines]),
    );
  });

  test("starts kohya's scripts on several nodes through accelerate", () => {
    const trainers = [{ kind: 'checkout', name: 'kohya', folder: tempFolder(), python: '/python' }] as const;
    expect(argumentsFor(kohya, { trainers })).toEqual(
      expect.arrayContaining(['--multi_gpu', '--num_processes=6', ...machines]),
    );
  });

  test('refuses to run ai-toolkit and the built-in trainings on several nodes', () => {
    const trainers = [
      { kind: 'checkout', name: 'ai-toolkit', folder: tempFolder(), python: '/python' },
    ] as const;
    expect(argumentsFor(aiToolkit, { trainers })).toBe(
      'ai-toolkit trains on one node only. Submit the job without --nodes',
    );
    expect(argumentsFor({ trainer: 'selftest', seconds: 1 }, {})).toBe(
      'The built-in trainings run on one node',
    );
  });
});

describe('shared folder of a job on several nodes', () => {
  const exited = (stdout: string, code = 0, stderr = ''): CommandResult => ({
    kind: 'exited',
    code,
    stdout,
    stderr,
  });
  const check = async (result: CommandResult) => {
    const folder = tempFolder();
    const commands: string[] = [];
    /** Records the options of srun, and whether the file that each node looks for exists. */
    const run = async (_command: string, args: readonly string[]): Promise<CommandResult> => {
      commands.push(`${args.slice(0, 4).join(' ')} ${existsSync(args.at(-1) ?? '')}`);
      return result;
    };
    try {
      await checkSharedFolder({ folder }, nodes, run);
      return commands;
    } catch (cause) {
      return cause instanceof Error ? cause.message.replace(folder, 'FOLDER') : cause;
    } finally {
      expect(readdirSync(folder)).toEqual([]);
    }
  };

  test('checks on each node that the job folder is visible', async () => {
    expect(await check(exited(''))).toEqual(['--overlap --nodes=3 --ntasks=3 --ntasks-per-node=1 true']);
  });

  test('throws an error that names the nodes without access, and the remedy', async () => {
    expect(await check(exited('node-3\nnode-2\n'))).toBe(
      "node node-2, node-3 cannot see the job's folder FOLDER. A job on several nodes needs a folder that all of them share: " +
        'add --work-dir FOLDER to worker_options of the pool',
    );
  });

  test.each<[CommandResult, string]>([
    [exited('', 1, 'srun: error: Unable to create step\n'), 'srun: error: Unable to create step'],
    [{ kind: 'missing' }, 'srun: missing'],
  ])('throws an error with the reason when srun fails: %j', async (result, reason) => {
    expect(await check(result)).toBe(`the 3 nodes of the allocation cannot be used: ${reason}`);
  });

  test('finds the trainer on the first node by the pid in the job folder', async () => {
    const folder = tempFolder();
    const processes = { identify: async (pid: number) => ({ pid, start: '1' }) };
    expect(await firstRankOf(folder, processes)).toBeNull();
    writeFileSync(join(folder, 'first-rank.pid'), '4711\n');
    expect(await firstRankOf(folder, processes)).toEqual({ pid: 4711, start: '1' });
    writeFileSync(join(folder, 'first-rank.pid'), '');
    expect(await firstRankOf(folder, processes)).toBeNull();
  });
});
