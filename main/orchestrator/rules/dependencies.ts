import type { JobId } from '../../../protocol/ids.ts';
import type { JobWait } from '../../../protocol/job-wait.ts';
import { type Approval, type FinalStatus, isFinal, type ShownStatus } from '../../../protocol/job.ts';
import type { Dependencies, EndedJob, Job, Parent } from '../model.ts';

/** Returns the first job of a chain of retries. A job that is no retry is its own root. */
export const rootOf = ({ id, retryRoot }: Pick<Job, 'id' | 'retryRoot'>): JobId => retryRoot ?? id;

/** Returns the number of parents that have not ended as required. */
export const unmetOf = (dependencies: Dependencies | null): number =>
  dependencies === null ? 0 : dependencies.parents.filter(({ isDone }) => !isDone).length;

/** Whether a pending job is in the queue: it waits for no approval and for no parent. */
export const isQueued = (job: {
  readonly approval: Approval | null;
  readonly dependencies: Dependencies | null;
}): boolean => job.approval !== 'wanted' && unmetOf(job.dependencies) === 0;

/**
 * Whether a child of `parent` can stop waiting because job `ended` has ended. With `on: 'success'`, any job of the
 * parent's chain of retries can complete instead of the parent.
 */
function meets(
  on: Dependencies['on'],
  parent: Pick<Parent, 'id' | 'root'>,
  ended: Pick<EndedJob, 'id' | 'retryRoot' | 'status'>,
): boolean {
  return on === 'end'
    ? parent.id === ended.id
    : ended.status === 'completed' && parent.root === rootOf(ended);
}

/** Returns the dependencies of a child after the end of a job: marks the parents that the child no longer waits for. */
export const afterEnd = (
  dependencies: Dependencies,
  ended: Pick<EndedJob, 'id' | 'retryRoot' | 'status'>,
  /** Whether the files exist that the child takes from this parent. */
  hasInputs: (parent: Parent) => boolean = () => true,
): Dependencies => ({
  ...dependencies,
  parents: dependencies.parents.map(parent =>
    !parent.isDone && meets(dependencies.on, parent, ended) && hasInputs(parent)
      ? { ...parent, isDone: true }
      : parent,
  ),
});

/** A parent that a job still waits for. */
export interface AwaitedParent {
  /** The parent, or its newest retry. */
  readonly id: JobId;
  readonly name: string;
  readonly status: ShownStatus;
  /** Estimated time until its end; null if unknown. */
  readonly leftMs: number | null;
  /** Why the job cannot take files from this parent, which has ended; null when it can, or when it takes none. */
  readonly trouble: InputTrouble | null;
}

/** Why a job cannot take files from a parent that has ended. `missing`: only a retry of the parent can provide them. */
export interface InputTrouble {
  readonly kind: 'uploading' | 'missing';
  /** The end of a sentence about the parent: "which ...". */
  readonly text: string;
  /** The input for which the parent has no file; absent if no file of the parent can be read. */
  readonly input?: { readonly name: string; readonly file: string };
}

/** Maximum number of parents to name in a sentence. */
const maxNamed = 3;

const hasFailed = ({ status, trouble }: AwaitedParent): boolean =>
  trouble === null ? status === 'failed' || status === 'cancelled' : trouble.kind === 'missing';

/** Sorts parents that need an action first: failed or cancelled ones, and those without the files. */
const byUrgency = (parents: readonly AwaitedParent[]): readonly AwaitedParent[] =>
  parents.toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)));

/** Describes the parents that a job waits for, in a sentence with advice. */
export function describeParents(parents: readonly AwaitedParent[]): string {
  const sorted = byUrgency(parents);
  const failed = sorted.filter(hasFailed);
  const [only] = sorted;
  const advice = failed.length === 0 ? '' : `. ${adviceFor(failed)}`;
  if (only !== undefined && sorted.length === 1) return `Waits for ${toPhrase(only)}${advice}`;
  const firstParents = sorted.slice(0, maxNamed).map(toPhrase).join(', ');
  const more = sorted.length > maxNamed ? ` and ${sorted.length - maxNamed} more` : '';
  return `Waits for ${sorted.length} jobs: ${firstParents}${more}${advice}`;
}

function adviceFor(failed: readonly AwaitedParent[]): string {
  const failedJobs = failed.length === 1 ? 'that job' : 'those jobs';
  return failed.some(({ trouble }) => trouble?.input !== undefined)
    ? `Retry ${failedJobs}, submit this one again with another file, or cancel it`
    : `Retry ${failedJobs}, or cancel this one`;
}

const toPhrase = ({ name, status, leftMs, trouble }: AwaitedParent): string =>
  trouble !== null
    ? `${name}, which ${trouble.text}`
    : isFinal(status)
      ? `${name}, ${endings[status]}`
      : `${name} (${statusWords[status]}${leftMs === null ? '' : `, ${toRemaining(leftMs)} left`})`;

const endings: Readonly<Record<FinalStatus, string>> = {
  completed: 'which has completed',
  failed: 'which failed',
  cancelled: 'which was cancelled',
};

const statusWords: Readonly<Record<Exclude<ShownStatus, FinalStatus>, string>> = {
  pending: 'pending',
  blocked: 'waits for approval',
  dispatched: 'starting',
  starting: 'starting',
  running: 'running',
  recovering: 'its worker is silent',
  cancelling: 'stopping',
};

const minuteMs = 60_000;

function toRemaining(ms: number): string {
  const minutes = Math.round(ms / minuteMs);
  if (minutes < 1) return 'less than a minute';
  if (minutes < 90) return `about ${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `about ${hours} h` : `about ${Math.round(hours / 24)} days`;
}

/** Returns the wait in machine-readable form: the number of parents, and details of the most urgent parent. */
export function waitForParents(parents: readonly AwaitedParent[]): JobWait {
  const [first] = byUrgency(parents);
  const params =
    first === undefined
      ? {}
      : {
          job_id: first.id,
          name: first.name,
          state: first.status,
          ...(first.leftMs !== null && { left_s: Math.round(first.leftMs / 1000) }),
          ...(first.trouble !== null && { files: first.trouble.kind, detail: first.trouble.text }),
          ...(first.trouble?.input && { input: first.trouble.input.name, file: first.trouble.input.file }),
        };
  return { code: 'after', params: { count: parents.length, ...params }, workers: [] };
}
