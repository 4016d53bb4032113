import type { EngineCheck, SlurmSettings } from '../../../protocol/pool.ts';
import type { LaunchOrder } from '../../orchestrator/ports/engines.ts';
import { describeFailure } from '../run-program.ts';
import type { SlurmCommand } from './reach.ts';
import { machineArgs, sbatchLines } from './submission.ts';

const separator = '\u001F';
const sinfoArgv = ['sinfo', '--noheader', `--format=${['%R', '%a', '%l', '%D', '%G'].join(separator)}`];

/** Reads the version and the partitions, and checks whether Slurm could provide the machine. Submits nothing. */
export async function checkSlurm(
  slurm: SlurmCommand,
  settings: SlurmSettings,
  largest: Pick<LaunchOrder, 'gpus' | 'wallTimeS'>,
  timeoutMs: number,
): Promise<EngineCheck> {
  const test = ['sbatch', '--test-only', ...machineArgs(settings, { nodes: 1, ...largest })];
  const [version, partitions, start] = await Promise.all([
    slurm(['sbatch', '--version'], { timeoutMs }),
    slurm(sinfoArgv, { timeoutMs }),
    slurm(test, { timeoutMs, stdin: '#!/bin/sh\ntrue\n' }),
  ]);
  const answer = {
    version: version.code === 0 ? (/\d[\w.-]*/.exec(version.stdout)?.[0] ?? null) : null,
    queues: partitions.code === 0 ? readPartitions(partitions.stdout) : [],
  };
  if (version.code !== 0) return { ...answer, ok: false, detail: describeFailure('sbatch', version) };
  if (partitions.code !== 0) return { ...answer, ok: false, detail: describeFailure('sinfo', partitions) };
  const message = sbatchLines(start.stderr).join(': ').slice(0, 1_500);
  if (start.code === 0) return { ...answer, ok: true, detail: withDate(message) || 'Slurm accepts jobs.' };
  const reason = message === '' ? describeFailure('sbatch', start) : message;
  return { ...answer, ok: false, detail: `Slurm does not give the pool's largest machine: ${reason}` };
}

/**
 * Replaces the seconds in `Job 58 to start at 1795649106 using ...` by a date. The engine sets `SLURM_TIME_FORMAT`, which makes
 * Slurm print all times in seconds.
 */
const withDate = (text: string): string =>
  text.replace(/(?<=start at )\d{9,11}\b/, seconds => new Date(Number(seconds) * 1_000).toISOString());

/** Parses the output of sinfo, which has one line for each kind of node in a partition. */
function readPartitions(output: string): EngineCheck['queues'] {
  const partitions = new Map<
    string,
    { readonly state: string; readonly time: string; readonly nodes: string[] }
  >();
  for (const line of output.split('\n')) {
    const [name = '', state = '', time = '', nodes = '', gres = ''] = line.split(separator);
    if (name === '') continue;
    const partition = partitions.get(name) ?? { state, time, nodes: [] };
    partition.nodes.push(`${nodes} nodes${gres === '' || gres === '(null)' ? '' : ` with ${gres}`}`);
    partitions.set(name, partition);
  }
  return [...partitions].slice(0, 200).map(([name, { state, time, nodes }]) => ({
    name,
    limits: `${state}, time limit ${time}, ${nodes.join(', ')}`,
  }));
}
