import { LaunchId } from '../../../protocol/ids.ts';
import type { WaitingReason } from '../../../protocol/pool.ts';
import type { Sighting } from '../../orchestrator/ports/engines.ts';
import { reasonKind } from './reasons.ts';

/** A Slurm job whose name belongs to a launch. */
export interface QueuedJob {
  readonly launchId: LaunchId;
  readonly sighting: Sighting;
}

export const jobName = (fleet: string, launchId: LaunchId): string => `trainyard-${fleet}-${launchId}`;

/** The unit separator. Names and reasons do not contain it, because users cannot easily type it. */
const separator = '\u001F';

/** The job name is the first field, so that lines of other jobs can be skipped by their prefix. */
const format = ['%j', '%i', '%T', '%r', '%S', '%e', '%N'].join(separator);

/** `--all` includes hidden partitions. `--states=all` includes jobs that ended in the last minutes. */
export const squeueArgv: readonly string[] = [
  'squeue',
  '--me',
  '--all',
  '--states=all',
  '--noheader',
  `--format=${format}`,
];

/**
 * Returns the jobs of a fleet. Throws when one of their lines cannot be parsed, because launches that are missing from the list
 * count as ended.
 */
export function parseQueue(fleet: string, output: string): readonly QueuedJob[] {
  const prefix = `trainyard-${fleet}-`;
  if (output !== '' && !output.endsWith('\n')) throw new Error('squeue printed only a part of its list');
  return output
    .split('\n')
    .filter(line => line.startsWith(prefix))
    .flatMap(line => {
      const [name = '', id = '', state, reason, start, end, nodes, ...more] = line.split(separator);
      const launchId = LaunchId.safeParse(name.slice(prefix.length));
      // One fleet id can be a prefix of another, such as `a` and `a-b`. Launch ids contain no hyphen, so a name with a hyphen
      // after the prefix belongs to the other fleet.
      if (!launchId.success && name.slice(prefix.length).includes('-')) return [];
      if (!launchId.success || nodes === undefined || more.length > 0 || !/^\d+$/.test(id))
        throw new Error(`squeue printed a line that cannot be read: ${line.replaceAll(separator, ' | ')}`);
      const job = { id, state: state ?? '', reason: reason ?? '', start, end, nodes };
      return isRefused(job) ? [] : [{ launchId: launchId.data, sighting: toSighting(job) }];
    });
}

/**
 * Returns one job for each launch, because Slurm allows several jobs with the same name. Prefers running jobs, then waiting jobs,
 * then the newest job.
 */
export function mergeByLaunch(jobs: readonly QueuedJob[]): ReadonlyMap<LaunchId, Sighting> {
  const byLaunch = new Map<LaunchId, Sighting>();
  for (const { launchId, sighting } of jobs.toSorted((a, b) => rank(a.sighting) - rank(b.sighting)))
    byLaunch.set(launchId, sighting);
  return byLaunch;
}

const ranks = { ended: 0, waiting: 1, running: 2 } as const;
/** Sort key by state, then by id. Slurm's ids are smaller than 2^40. */
const rank = ({ state, engineId }: Sighting): number => ranks[state] * 2 ** 40 + Number(engineId);

const exits: Readonly<Record<string, Exclude<Sighting['exit'], null>>> = {
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
  FAILED: 'failed',
  OUT_OF_MEMORY: 'failed',
  TIMEOUT: 'timeout',
  DEADLINE: 'timeout',
  NODE_FAIL: 'node_failed',
  BOOT_FAIL: 'node_failed',
  PREEMPTED: 'preempted',
};

/** States in which a job has nodes. COMPLETING includes the time in which a cancelled worker saves. */
const running = new Set('RUNNING COMPLETING SUSPENDED STOPPED SIGNALING RESIZING STAGE_OUT'.split(' '));
/** States in which a job has no usable nodes yet. In CONFIGURING, Slurm has chosen the nodes and starts them. */
const waiting = new Set(
  'PENDING CONFIGURING EXPEDITING REQUEUED REQUEUE_FED REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT'.split(' '),
);

interface Line {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly start: string | undefined;
  readonly end: string | undefined;
  readonly nodes: string;
}

/** Returns true for the record that Slurm keeps of a refused order. */
const isRefused = ({ state, nodes }: Line): boolean => state === 'FAILED' && nodes === '';

/** Returns the state of a launch. Unknown states, such as of later Slurm versions, count as running if the job has nodes. */
function stateOf({ state, nodes }: Line): Sighting['state'] {
  if (state in exits || state === 'REVOKED') return 'ended';
  if (waiting.has(state)) return 'waiting';
  return running.has(state) || nodes !== '' ? 'running' : 'waiting';
}

function toSighting(line: Line): Sighting {
  const state = stateOf(line);
  const start = toWallMs(line.start);
  const end = toWallMs(line.end);
  const hasStarted = line.nodes !== '' && state !== 'waiting';
  return {
    engineId: line.id,
    state,
    reason: state === 'waiting' ? waitingReason(line) : null,
    expectedStart: state === 'waiting' ? start : null,
    startedAt: hasStarted ? start : null,
    endsAt: state === 'waiting' ? null : end,
    nodes: state === 'waiting' ? [] : expandNodes(line.nodes),
    exit: exits[line.state] ?? null,
  };
}

function waitingReason({ state, reason }: Line): WaitingReason | null {
  if (state === 'CONFIGURING') return { kind: 'resources', text: state };
  return reason === '' || reason === 'None' ? null : { kind: reasonKind(reason), text: reason.slice(0, 300) };
}

/** Converts a time to milliseconds; null for `N/A`, which Slurm prints for an unknown time. */
function toWallMs(seconds: string | undefined): number | null {
  return seconds !== undefined && /^[1-9]\d{0,11}$/.test(seconds) ? Number(seconds) * 1_000 : null;
}

/** Expands `rig[1-2,07],login` to `rig1 rig2 rig07 login`. The result is limited to 256 nodes, the maximum of a job. */
function expandNodes(list: string): readonly string[] {
  const parts = list.match(/(?:[^,[\]]|\[[^\]]*\])+/g) ?? [];
  return parts.flatMap(expandPart).slice(0, 256);
}

function expandPart(part: string): readonly string[] {
  const [, head = '', ranges = '', tail = ''] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(part) ?? [];
  if (ranges === '') return [part];
  return ranges
    .split(',')
    .flatMap(expandRange)
    .flatMap(number => expandPart(`${head}${number}${tail}`));
}

/** Expands `08-10` to `08 09 10`, with leading zeros. */
function expandRange(range: string): readonly string[] {
  const [from = '', to = from] = range.split('-');
  const count = Math.min(Number(to) - Number(from) + 1, 256);
  if (!(count > 0)) return [range];
  return Array.from({ length: count }, (_, index) => String(Number(from) + index).padStart(from.length, '0'));
}
