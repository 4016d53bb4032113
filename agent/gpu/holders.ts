/**
 * Finds out who owns the processes on the GPUs: a run of this worker, one that has ended, or another program.
 */

import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { JobId } from '../../protocol/ids.ts';
import { type KnownTrouble, makeTrouble } from './conditions.ts';
import type { GpuProcess } from './processes.ts';
import { parseStat } from '../process/processes-unix.ts';

/** A trainer of this worker. `leader` is its pid, and also the id of its process group and of its session. */
export interface OwnRun {
  readonly jobId: JobId;
  /** Null when its pid is not known, for example because it ended too early. */
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
  /** Whether it runs in a container other than the worker's own. */
  readonly isContained: boolean;
  /** The job of this worker that started it, according to its environment, which child processes inherit. */
  readonly jobId: JobId | null;
}

/** Looks up a process. Null when it is not visible here: it has ended, or it is in another container. */
export type ProcessTable = (pid: number) => ProcessFacts | null;

export type Owner =
  | { readonly kind: 'ours' | 'unseen' }
  | { readonly kind: 'left_over'; readonly jobId: JobId; readonly name: string }
  | { readonly kind: 'foreign'; readonly name: string };

const maxAncestors = 100;

export function ownerOf(pid: number, table: ProcessTable, { live, ended }: OwnRuns): Owner {
  const facts = table(pid);
  // In a container, the driver reports pids that mean nothing here. While a run of ours is live, it may be that run.
  if (facts === null) return { kind: live.length > 0 ? 'ours' : 'unseen' };
  // A trainer may run in a container, which is no child of the worker. It can only be checked after its run has ended.
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
  let at = pid;
  for (let steps = 0; steps < maxAncestors && at > 1; steps += 1) {
    if (at === leader) return true;
    const facts = table(at);
    if (facts === null) return false;
    if (isIn(facts, leader)) return true;
    at = facts.parent;
  }
  return false;
}

/** In MiB. A context that computes takes more; monitoring tools and the like take less. */
const minMib = 256;

export interface Holding {
  readonly troubles: readonly KnownTrouble[];
  /**
   * Processes that should not be on a GPU, seen for the first time or again. One that is ending is gone by the next
   * probe.
   */
  readonly suspects: ReadonlySet<string>;
  /** Whether a suspect still has to be seen a second time. */
  readonly isOpen: boolean;
}

/**
 * Reports GPUs that are held by processes other than a live run's, once two probes in a row found them. `earlier`: the
 * suspects of the previous probe.
 */
export function holdingOf(
  processes: readonly GpuProcess[],
  ownerAt: (pid: number) => Owner,
  earlier: ReadonlySet<string>,
): Holding {
  const strangers = processes
    .filter(({ memoryMib }) => memoryMib >= minMib)
    .map(process => ({ ...process, owner: ownerAt(process.pid) }))
    .filter(({ owner }) => owner.kind !== 'ours')
    .toSorted((a, b) => b.memoryMib - a.memoryMib);
  const sure = strangers.filter(process => earlier.has(keyOf(process)));
  const groups = Map.groupBy(sure, ({ gpu }) => gpu);
  return {
    troubles: [...groups].flatMap(([gpu, [first, ...others]]) =>
      first === undefined ? [] : [troubleOf(gpu, first, others.length)],
    ),
    suspects: new Set(strangers.map(keyOf)),
    isOpen: sure.length < strangers.length,
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
      const detail = `process ${pid} (${owner.name})${more} is left over of job ${owner.jobId} and holds its memory: end it with kill -9 ${pid}`;
      return { ...makeTrouble(gpu, 'held', detail), ours: true };
    }
    case 'foreign': {
      const detail = `process ${pid} (${owner.name})${more} holds its memory, and is not this worker's: end it, or leave this GPU out with --gpus`;
      return makeTrouble(gpu, 'held', detail);
    }
    case 'ours':
    case 'unseen': {
      const detail = `a process that is not visible here (${pid} outside)${more} holds its memory: end it, or leave this GPU out with --gpus`;
      return makeTrouble(gpu, 'held', detail);
    }
  }
}

/**
 * Looks up processes in Linux's /proc; null on other platforms, where each lookup would have to run a program. A process belongs
 * to a job if its environment names that job's config: a trainer's children inherit its environment.
 */
export function openProcessTable(platform: string, workDir: string, proc = '/proc'): ProcessTable | null {
  if (platform !== 'linux') return null;
  const own = read(`${proc}/self/cgroup`);
  return pid => {
    const stat = parseStat(read(`${proc}/${pid}/stat`));
    if (stat === null) return null;
    const { parent, group, session } = stat;
    return {
      parent,
      group,
      session,
      isContained: isContained(read(`${proc}/${pid}/cgroup`), own),
      name: read(`${proc}/${pid}/comm`).trim() || 'unknown',
      jobId: jobOf(read(`${proc}/${pid}/environ`), workDir),
    };
  };
}

const container = /docker|containerd|libpod|kubepods|lxc/;
const isContained = (cgroup: string, own: string): boolean => cgroup !== own && container.test(cgroup);

function jobOf(environ: string, workDir: string): JobId | null {
  const variable = environ.split('\0').find(entry => entry.startsWith('CONFIG_PATH='));
  const folder = dirname(variable?.slice('CONFIG_PATH='.length) ?? '');
  const job = JobId.safeParse(basename(folder));
  return dirname(folder) === workDir && job.success ? job.data : null;
}

/** Returns '' when the file cannot be read. Another user's process hides some of its files. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
