import type { JobParents } from '../../../protocol/job-dependencies.ts';
import { shownName, type SweepValues } from '../../../protocol/job-about.ts';
import type {
  AttemptView,
  Hold,
  JobDataView,
  JobDetail,
  JobView,
  JobWarning,
  Outstanding,
} from '../../../protocol/job.ts';
import type { Progress } from '../../../protocol/reports.ts';
import { duration } from '../progress-bar.ts';
import type { JobInput } from '../../../protocol/job-inputs.ts';
import { isLoopbackLink, linksOfJob, type RunLink, trackerName } from '../../../protocol/run-link.ts';
import { type Column, type Fact, plain, plainLines } from '../table.ts';
import { timeText } from '../time.ts';
import { usageText } from '../usage-text.ts';
import { sizeText } from '../../../protocol/text.ts';

export const jobColumns: readonly Column<JobView>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'STATUS', text: ({ status }) => status },
  { title: 'NAME', text: job => shownName(job), minWidth: 12 },
  { title: 'USER', text: ({ user }) => user, importance: 3 },
  { title: 'WORKER', text: ({ worker_name: name, worker_id: id }) => name ?? id ?? '-', importance: 5 },
  { title: 'TRY', text: ({ attempt, max_attempts: max }) => `${attempt}/${max}`, importance: 1 },
  { title: 'PRIORITY', text: job => shortPriorityText(job), importance: 2 },
  { title: 'SUBMITTED', text: ({ queued_at: at }, isScreen) => timeText(at, isScreen), importance: 4 },
  { title: 'DETAILS', text: job => situation(job), minWidth: 24 },
];

/** Describes the progress of a job, or why it is not running. */
export function situation(job: JobView): string {
  switch (job.status) {
    case 'pending':
    case 'blocked':
      return job.reason ?? '';
    case 'recovering':
    case 'cancelling':
      return job.hold === null ? '' : holdText(job.hold);
    case 'failed':
      return [job.cause, plainLines(job.error_message ?? '').findLast(line => line !== '')]
        .filter(part => part !== null && part !== undefined)
        .join(': ');
    case 'dispatched':
    case 'starting':
    case 'running':
      return job.progress === null ? '' : progressText(job.progress);
    case 'completed':
    case 'cancelled':
      return job.error_message ?? '';
  }
}

function holdText({ kind, since, until, releasable }: Hold): string {
  const what =
    kind === 'silent'
      ? `no contact with its worker since ${since}; it may still be training`
      : `stop requested at ${since}, not confirmed yet`;
  const next = until === null ? '' : `; timeout at ${until}`;
  return `${what}${next}${releasable ? '; to stop waiting, run "trainyard jobs release"' : ''}`;
}

function progressText({ percent, step, total_steps: total, loss, eta_s: eta }: Progress): string {
  const parts = [
    percent === undefined ? null : `${Math.round(percent)} %`,
    step === undefined ? null : `step ${step}${total === undefined ? '' : `/${total}`}`,
    loss === undefined ? null : `loss ${loss.toPrecision(3)}`,
    eta === undefined ? null : `${duration(eta)} left`,
  ];
  return parts.filter(part => part !== null).join('  ');
}

export const jobFacts = (job: JobView): readonly Fact[] => [
  ['Job', job.id],
  ['Status', job.status],
  ['Name', job.name],
  ['Config', job.config_name],
  ['Group', job.group],
  ['Tags', job.tags.join(', ') || null],
  ['Sweep', job.sweep && sweepText(job.sweep)],
  ['Now', situation(job) === '' || job.status === 'failed' ? null : situation(job)],
  ['Cause', job.cause],
  ['Message', job.status === 'completed' ? null : job.error_message],
  ['User', job.user],
  ['Worker', job.worker_id === null ? null : `${job.worker_name ?? ''} (${job.worker_id})`.trim()],
  [
    'GPUs',
    job.allocated_gpus === null || job.allocated_gpus.length === 0 ? null : job.allocated_gpus.join(', '),
  ],
  ['Attempt', `${job.attempt} of ${job.max_attempts}`],
  ['Priority', priorityText(job)],
  ['Approval', job.approval],
  ['Retry of', job.retry_of],
  ['After', job.after && parentsText(job.after)],
  ['Position', job.position === null ? null : String(job.position)],
  ['Requires', requirementsText(job)],
  ['Submitted', job.queued_at],
  ['Started', job.started_at],
  ['Ended', job.completed_at],
];

export const detailFacts = (job: JobDetail): readonly Fact[] => [
  ...jobFacts(job),
  ['Then', childrenText(job)],
  ['Used', job.usage && usageText(job.usage)],
  ['Notes', job.notes],
  ['Trackers', linksOfJob(job).map(linkText).join('\n') || null],
  ['Inputs', job.inputs.map(inputText).join('\n') || null],
  ['Data', job.data.map(dataText).join('\n') || null],
  ['Warning', warningsText(job.warnings)],
  ['Outstanding', job.outstanding && outstandingText(job.outstanding)],
  [
    'Attempts',
    job.attempts.flatMap(attempt => [attemptText(attempt), ...nodeLines(attempt)]).join('\n') || null,
  ],
];

/** Returns one line per parent of the job. */
const parentsText = ({ on, parents }: JobParents): string =>
  parents
    .map(({ job_id: id, name, status, retry_id: retry, done, trouble }) => {
      const state = done ? 'done' : parentState(trouble ? `${status}, and ${trouble}` : status, retry);
      return `${name ?? 'unknown'} (${id})  ${state}${on === 'end' ? ', whatever its outcome' : ''}`;
    })
    .join('\n');

function parentState(status: string | null, retry: string | null): string {
  if (status === null) return 'deleted';
  return retry === null ? status : `${status} as retry ${retry}`;
}

/** Returns one line per child of the job; null for none. */
function childrenText({ children, children_count: count }: JobDetail): string | null {
  const lines = children.map(({ job_id: id, name, status }) => `${name} (${id})  ${status}`);
  const more = count - children.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n') || null;
}

/** Shows the whole URL, so that the user sees its host. */
const linkText = (link: RunLink): string =>
  `${trackerName(link)}  ${plain(link.url)}${isLoopbackLink(link) ? '  (opens only on its worker)' : ''}`;

/** Describes an input: a file of another job. */
function inputText({ name, job_id: id, job_name: job, file, source }: JobInput): string {
  const from = `${name}  ${file} of ${job ?? 'a deleted job'} (${id})`;
  if (source === null) return from;
  const files = source.files === 1 ? '' : `${source.files} files, `;
  return `${from}: ${source.key} (${files}${sizeText(source.bytes)})${source.job_id === id ? '' : ` of retry ${source.job_id}`}`;
}

function dataText({ path, version, files, bytes, dataset }: JobDataView): string {
  const id = version.slice(0, 12);
  const name = dataset === null ? id : `${dataset.name}@${id}`;
  return `${name}  ${files} ${files === 1 ? 'file' : 'files'} (${sizeText(bytes)})  ${path}`;
}

/** Returns one line per warning; null for none. */
export const warningsText = (warnings: readonly JobWarning[] = []): string | null =>
  warnings.length === 0 ? null : warnings.map(({ message }) => message).join('\n');

/** Describes the files that the worker has not uploaded yet. */
function outstandingText({ files, bytes, reason, since }: Outstanding): string {
  const what =
    files === null || bytes === null
      ? `the worker has been uploading files since ${since}`
      : `${files} ${files === 1 ? 'file' : 'files'} (${sizeText(bytes)}) not uploaded since ${since}`;
  return `${what}${reason === null ? '' : `: ${reason}`}\nTo stop waiting for them, run "trainyard jobs give-up"`;
}

/** Returns one line per config value that the sweep has set. */
const sweepText = (values: SweepValues): string =>
  Object.entries(values)
    .map(([key, value]) => `${key} = ${String(value)}`)
    .join('\n');

/** Formats the priority for a table column. */
function shortPriorityText({ priority, boosts, is_top: isTop }: JobView): string {
  if (isTop) return `${priority} top`;
  return boosts === 0 ? String(priority) : `${priority} +${boosts}`;
}

function priorityText({ priority, priority_name: name, boosts, is_top: isTop }: JobView): string {
  const times = boosts === 1 ? 'once' : `${boosts} times`;
  const parts = [
    `${priority} (${name})`,
    boosts === 0 ? null : `raised ${times} because of its long wait`,
    isTop ? 'moved to the top' : null,
  ];
  return parts.filter(part => part !== null).join(', ');
}

function requirementsText(job: JobView): string | null {
  const { target, num_nodes: nodes, gpu_count: gpus, gpu_vram_gb: vram } = job;
  const { worker_labels: labels, timeout_s: limit } = job;
  const parts = [
    target === 'auto' ? null : `target ${target}`,
    nodes === 1 ? null : `${nodes} machines`,
    gpus === 0 ? null : `${gpus} GPU${gpus === 1 ? '' : 's'}${nodes === 1 ? '' : ' per machine'}`,
    vram === 0 ? null : `${vram} GB per GPU`,
    job.accelerator,
    ...Object.entries(labels).map(([key, pattern]) => `${key}=${pattern}`),
    limit === null ? null : `at most ${duration(limit)}`,
  ];
  return parts.filter(part => part !== null).join(', ') || null;
}

function attemptText(attempt: AttemptView): string {
  const { attempt: number, worker_name: name, worker_id: id, outcome, cause, ended_at: ended } = attempt;
  const exit = attempt.exit_code === null ? attempt.signal : `exit code ${attempt.exit_code}`;
  const why = [cause, exit].filter(part => part !== null).join(', ');
  const times = `${attempt.offered_at} to ${ended ?? 'now'}`;
  const end = `${outcome ?? 'active'}${why === '' ? '' : ` (${why})`}`;
  return [`${number}  ${name ?? id}  ${times}  ${end}`, resumeText(attempt)]
    .filter(part => part !== '')
    .join('; ');
}

/** Returns one line per machine of an attempt on several machines. */
const nodeLines = ({ nodes }: AttemptView): readonly string[] =>
  nodes.map(({ rank, worker_name: name, worker_id: id, state, outcome, error_message: error }) => {
    const why = plainLines(error ?? '').findLast(line => line !== '');
    const text = `  machine ${rank + 1}: ${name ?? id}  ${outcome ?? state}`;
    return why === undefined ? text : `${text}: ${why}`;
  });

/** Describes where an attempt continued, and how many steps it repeats. Empty if no earlier attempt had made progress. */
function resumeText({ resumed }: AttemptView): string {
  if (resumed === null) return '';
  const { checkpoint, step, steps_lost: lost } = resumed;
  const steps = `${lost} ${lost === 1 ? 'step' : 'steps'}`;
  if (checkpoint === null) return `started from the beginning${lost === null ? '' : `, ${steps} lost`}`;
  const stepText = step === null ? '' : ` at step ${step}`;
  return `continued from ${checkpoint}${stepText}${lost === null || lost === 0 ? '' : `, ${steps} repeated`}`;
}
