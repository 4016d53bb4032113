/**
 * Determines the owner of each process on the GPUs: a current run of this worker, an ended run, or another program.
 */

import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { JobId } from '../../protocol/ids.ts';
import { type KnownTrouble, makeTrouble } from './conditions.ts';
import type { GpuProcess } from './processes.ts';
import { parseStat } from '../process/processes-unix.ts';

/** A trainer of this worker. */
export interface OwnRun {
  readonly jobId: JobId;
  /**
   * The pid of the trainer, which is also the id of its process group and session. Null when the pid is unknown, for
   * example because the trainer ended too early.
   */
  readonly leader: number | null;
}

export interface OwnRuns {
  readonly live: readonly OwnRun[];
  readonly ended: readonly OwnRun[];
}

/** A process of this machine. */
export interface ProcessFacts {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly name: string;
  /** Whether the process runs in another container than the worker. */
  readonly isContained: boolean;
  /** The job of this worker that started the process, from its environment, which child processes inherit. */
  readonly jobId: JobId | null;
}

/** Looks up a process. Returns null when it has ended, or when it is in another container and so invisible. */
export type ProcessTable = (pid: number) => ProcessFacts | null;

/**
 * `ours`: a current run of this worker. `left_over`: an ended run of this worker. `foreign`: another program. `unseen`: a
 * process that cannot be looked up.
 */
export type Owner =
  | { readonly kind: 'ours' | 'unseen' }
  | { readonly kind: 'left_over'; readonly jobId: JobId; readonly name: string }
  | { readonly kind: 'foreign'; readonly name: string };

const maxAncestors = 100;

/** Determines the owner of a process on a GPU, from the process and its ancestors. */
export function ownerOf(pid: number, table: ProcessTable, { live, ended }: OwnRuns): Owner {
  const facts = table(pid);
  // In a container, the driver reports pids of the host, which are unknown here. Assume that the process belongs to a
  // current run.
  if (facts === null) return { kind: live.length > 0 ? 'ours' : 'unseen' };
  // A trainer may start a container, whose processes are not children of the worker. Assume that they belong to a
  // current run.
  if (facts.isContained && live.length > 0) return { kind: 'ours' };
  if (live.some(run => run.jobId === facts.jobId || descends(pid, run.leader, table)))
    return { kind: 'ours' };
  const from = facts.jobId ?? ended.find(({ leader }) => isIn(facts, leader))?.jobId;
  return from === undefined
    ? { kind: 'foreign', name: facts.name }
    : { kind: 'left_over', jobId: from, name: facts.name };
}

const isIn = ({ group, session }: ProcessFacts, leader: number | null): boolean =>
  leader !== null && (group === leader || session === leader);

function descends(pid: number, leader: number | null, table: ProcessTable): boolean {
  let current = pid;
  for (let steps = 0; steps < maxAncestors && current > 1; steps += 1) {
    if (current === leader) return true;
    const facts = table(current);
    if (facts === null) return false;
    if (isIn(facts, leader)) return true;
    current = facts.parent;
  }
  return false;
}

/** The minimum memory, in MiB, of a process that counts. Programs that compute use more, monitoring tools use less. */
const minMib = 256;

export interface Holding {
  readonly troubles: readonly KnownTrouble[];
  /**
   * All processes of this probe that no current run owns. They are reported only if the next probe also finds them,
   * because they may be about to exit.
   */
  readonly suspects: ReadonlySet<string>;
  /** Whether a suspect was found for the first time, so that another probe must confirm it. */
  readonly needsConfirmation: boolean;
}

/**
 * Reports GPUs that are held by processes outside the current runs. A process must be in two consecutive probes.
 * `earlier`: the suspects of the previous probe.
 */
export function holdingOf(
  processes: readonly GpuProcess[],
  ownerAt: (pid: number) => Owner,
  earlier: ReadonlySet<string>,
): Holding {
  const suspects = processes
    .filter(({ memoryMib }) => memoryMib >= minMib)
    .map(process => ({ ...process, owner: ownerAt(process.pid) }))
    .filter(({ owner }) => owner.kind !== 'ours')
    .toSorted((a, b) => b.memoryMib - a.memoryMib);
  const confirmed = suspects.filter(process => earlier.has(keyOf(process)));
  const groups = Map.groupBy(confirmed, ({ gpu }) => gpu);
  return {
    troubles: [...groups].flatMap(([gpu, [first, ...others]]) =>
      first === undefined ? [] : [troubleOf(gpu, first, others.length)],
    ),
    suspects: new Set(suspects.map(keyOf)),
    needsConfirmation: confirmed.length < suspects.length,
  };
}

const keyOf = ({ gpu, pid }: GpuProcess): string => `${gpu} ${pid}`;

function troubleOf(
  gpu: number,
  { pid, owner }: GpuProcess & { readonly owner: Owner },
  others: number,
): KnownTrouble {
  const more = others === 0 ? '' : ` and ${others} more`;
  switch (owner.kind) {
    case 'left_over': {
      const detail = `process ${pid} (${owner.name})${more} remains from job ${owner.jobId} and uses its memory: end it with kill -9 ${pid}`;
      return { ...makeTrouble(gpu, 'held', detail), ours: true };
    }
    case 'foreign': {
      const detail = `process ${pid} (${owner.name})${more} uses its memory, and does not belong to this worker: end it, or exclude this GPU with --gpus`;
      return makeTrouble(gpu, 'held', detail);
    }
    case 'ours':
    case 'unseen': {
      const detail = `a process outside this container (pid ${pid} there)${more} uses its memory: end it, or exclude this GPU with --gpus`;
      return makeTrouble(gpu, 'held', detail);
    }
  }
}

/**
 * Looks up processes in Linux's /proc. Returns null on other platforms, where each lookup would have to run a program. A
 * process belongs to a job if the path of the job's config is in its environment, which child processes inherit.
 */
export function openProcessTable(platform: string, workDir: string, proc = '/proc'): ProcessTable | null {
  if (platform !== 'linux') return null;
  const ownCgroup = read(`${proc}/self/cgroup`);
  return pid => {
    const stat = parseStat(read(`${proc}/${pid}/stat`));
    if (stat === null) return null;
    const { parent, group, session } = stat;
    return {
      parent,
      group,
      session,
      isContained: isContained(read(`${proc}/${pid}/cgroup`), ownCgroup),
      name: read(`${proc}/${pid}/comm`).trim() || 'unknown',
      jobId: jobOf(read(`${proc}/${pid}/environ`), workDir),
    };
  };
}

const container = /docker|containerd|libpod|kubepods|lxc/;
const isContained = (cgroup: string, ownCgroup: string): boolean =>
  cgroup !== ownCgroup && container.test(cgroup);

function jobOf(environ: string, workDir: string): JobId | null {
  const variable = environ.split('\0').find(entry => entry.startsWith('CONFIG_PATH='));
  const folder = dirname(variable?.slice('CONFIG_PATH='.length) ?? '');
  const job = JobId.safeParse(basename(folder));
  return dirname(folder) === workDir && job.success ? job.data : null;
}

/** Returns '' when the file cannot be read. Some files of another user's process are unreadable. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
