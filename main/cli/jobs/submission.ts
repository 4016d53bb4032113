import type { Command } from 'commander';
import type { ValueOf } from '../../../protocol/client.ts';
import type { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn } from '../flags.ts';
import { printOne } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { Remote } from '../remote.ts';
import type { Fact } from '../table.ts';
import { warningsText } from './text.ts';
import { concludeJob, createJobDisplay, followJob } from './watch.ts';
import { explanationFacts } from './why.ts';

type Submitted = ValueOf<typeof queueApi.retry>;
type Accepted = Extract<Submitted, { readonly success: true }>;
type DryRun = Extract<ValueOf<typeof queueApi.submit>, { readonly dry_run: true }>;

/** Adds the options for waiting to commands that create a job. */
export const withWaitOptions = (command: Command): Command =>
  command
    .option('--wait', 'wait until the job ends; exit with code 8 unless it completes')
    .option('--follow', 'like --wait, and show progress');

/** Prints the result of a submission, or waits until the job ends. Ends the command when no job was created. */
export async function concludeSubmission(remote: Remote, answer: Submitted): Promise<void> {
  const { flags, terminal } = remote;
  if (!answer.success) {
    // Prints only JSON or fields, for scripts. People read the reason on stderr.
    printOne(remote, { answer, facts: [] });
    return fail(exitCodes.rejected, `Job not submitted: ${answer.reason ?? noWorker}`);
  }
  const isFollowed = isOn(flags, 'follow');
  if (!isFollowed && !isOn(flags, 'wait')) return printOne(remote, { answer, facts: submittedFacts(answer) });
  const blocked = answer.status === 'blocked' ? `. ${blockedText(answer)}` : '';
  terminal.err(`Submitted job ${answer.job_id}. Ctrl-C leaves it running${blocked}\n`);
  const show = isFollowed ? createJobDisplay(terminal) : () => undefined;
  concludeJob(remote, await followJob(remote, answer.job_id, show));
}

/** Prints the result of a dry run. Ends the command with the exit code that the submission would have. */
export function concludeDryRun(remote: Remote, answer: DryRun): void {
  printOne(remote, { answer, facts: dryRunFacts(answer) });
  if (answer.status === 'rejected')
    fail(exitCodes.rejected, `The job would be rejected: ${answer.reason ?? noWorker}`);
  remote.terminal.err('Nothing was submitted\n');
}

const noWorker = 'no worker can start it now';

/** @internal */
export function submittedFacts(answer: Accepted): readonly Fact[] {
  const { job_id: id, queue_position: position, reason } = answer;
  const positionText = position === null ? null : `${position} in the queue`;
  return [
    ['Job', id],
    ...placeFacts(answer),
    ['Blocked', answer.status === 'blocked' ? blockedText(answer) : null],
    ['Warning', warningsText(answer.warnings)],
    ['Position', positionText && [positionText, reason].filter(part => part !== null).join(': ')],
    ['Now', positionText === null && answer.status === 'queued' ? reason : null],
  ];
}

const endings: Readonly<Record<DryRun['status'], string>> = {
  running: 'would start now',
  queued: 'would be queued',
  blocked: 'would need approval',
  rejected: 'would be rejected',
};

/** @internal */
export const dryRunFacts = (answer: DryRun): readonly Fact[] => [
  ['Dry run', endings[answer.status]],
  ...placeFacts(answer),
  ...needsFacts(answer),
  ['Expected', earlierText(answer)],
  ['Warning', warningsText(answer.warnings)],
  // A job that would start immediately needs no explanation.
  ...(answer.status === 'running' ? [] : explanationFacts(answer.explanation)).filter(
    ([name]) => name !== 'Status',
  ),
];

const needsFacts = ({ needs }: DryRun): readonly Fact[] =>
  needs === undefined
    ? []
    : [
        ['Trainer', needs.trainer],
        ['Needs', gpusText(needs.gpu_count)],
        ['Files', needs.files.join('\n') || null],
        ['Data', needs.data.join('\n') || null],
      ];

function earlierText({ earlier }: DryRun): string | null {
  if (earlier === null || earlier === undefined) return null;
  const { runs, expected_s: seconds, peak_memory_gb: memory, output_bytes: bytes } = earlier;
  const parts = [
    ...(seconds === null ? [] : [`about ${duration(seconds)}`]),
    ...(memory === null ? [] : [`${memory} GB of GPU memory`]),
    ...(bytes === null ? [] : [`${(bytes / 1e9).toFixed(1)} GB of files`]),
  ];
  return parts.length === 0 ? null : `${parts.join(', ')} (${runs} similar ${runs === 1 ? 'run' : 'runs'})`;
}

const gpusText = (count: number): string =>
  count === 0 ? 'no GPU' : `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;

const placeFacts = ({
  allocated_worker_id: worker,
  allocated_gpus: gpus,
}: Pick<Accepted, 'allocated_worker_id' | 'allocated_gpus'>): readonly Fact[] => [
  ['Worker', worker],
  ['GPUs', gpus === null || gpus.length === 0 ? null : gpus.join(', ')],
];

const blockedText = ({ job_id: id }: Accepted): string =>
  `It needs approval: run "trainyard jobs approve ${id}"`;
