import type { JobView } from '../../../../protocol/job.ts';
import { lastErrorLine } from '../error-line.ts';

/** Name of the URL parameter of the job list with the selected cause. */
export const causeParam = 'cause';

/** Failed jobs with the same cause. */
export interface FailureGroup {
  /** The cause as a short text, which also identifies the group. */
  readonly cause: string;
  readonly count: number;
  /** The first `maxExamples` jobs of the group, in the given order. */
  readonly examples: readonly JobView[];
}

const maxExamples = 2;

/** Maximum length of a cause. Causes are short, because they are part of the URL. */
const maxLength = 80;

/** Parts that differ between jobs with the same cause, and their replacements. They are replaced in this order. */
const varying: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b[a-z][a-z\d+.-]*:\/\/\S+/giu, '…'],
  // Paths, with or without quotes: /home/ada/run-3/model.safetensors, C:\runs\3.
  [/(?<![\p{L}\d])(?:~|[a-z]:)?(?:[\\/][^\s\\/'"`,;:()]+)+[\\/]?/giu, '…'],
  // Ids: UUIDs, hashes and addresses, which contain a digit.
  [/\b0x[\da-f]+\b|\b(?=[a-f-]*\d)[\da-f]{8,}(?:-[\da-f]{4,})*\b/giu, '…'],
  [/\b[jw]_[\w-]+/gu, '…'],
  [/[-+]?\b\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?(?:\s?(?:[kmgt]i?b|bytes|ms|s|%))?(?![\p{L}\d])/giu, '#'],
  [/#(?:[\s,x×/]*#)+/gu, '#'],
  [/\s+/gu, ' '],
];

/** Matches the name of an exception at the start of a line: "torch.OutOfMemoryError: ", "ValueError: ". */
const exceptionName = /^[\w.]*(?:Error|Exception|Interrupt|Exit):\s*/u;

/**
 * Reduces an error to the text that all failures of the same cause share. This text is the first sentence of the last
 * error line, without numbers, paths and ids.
 * @internal
 */
export function normaliseError(error: string): string {
  const line = lastErrorLine(error);
  const message = line.replace(exceptionName, '');
  // A message of one word, such as the key of a KeyError, means nothing without the name of the exception.
  const chosen = message.includes(' ') ? message : line;
  let text = chosen.slice(0, 2_000);
  for (const [pattern, replacement] of varying) text = text.replace(pattern, replacement);
  const [sentence = text] = text.split(/[.!?](?=\s)/u, 1);
  const trimmed = sentence.trim().replace(/[\s.:;,]+$/u, '');
  return trimmed.length > maxLength ? `${trimmed.slice(0, maxLength - 1)}…` : trimmed;
}

/** Returns the text of a failure cause in the user's language. */
type CauseText = (cause: NonNullable<JobView['cause']>) => string;

/** Causes whose error texts only repeat the cause with names and times. */
const plainCauses: ReadonlySet<JobView['cause']> = new Set([
  'worker_lost',
  'preempted',
  'timeout',
  'rejected',
]);

/**
 * Returns a function that returns the cause of a failed job, or null for other jobs. The function caches results,
 * because most jobs stay the same objects between calls.
 */
export function createCauseReader(causeText: CauseText): (job: JobView) => string | null {
  const causes = new WeakMap<JobView, string>();
  return job => {
    if (job.status !== 'failed') return null;
    const before = causes.get(job);
    if (before !== undefined) return before;
    const cause = causeOf(job, causeText);
    causes.set(job, cause);
    return cause;
  };
}

function causeOf({ cause, error_message: error }: JobView, causeText: CauseText): string {
  const text = error === null || plainCauses.has(cause) ? '' : normaliseError(error);
  if (text !== '') return text;
  return cause === null ? '' : causeText(cause);
}

/** Groups failed jobs by cause. The largest group comes first; groups of equal size are sorted by cause. */
export function groupFailures(
  jobs: Iterable<JobView>,
  causeOfJob: (job: JobView) => string | null,
): readonly FailureGroup[] {
  const groups = new Map<string, JobView[]>();
  for (const job of jobs) {
    const cause = causeOfJob(job);
    if (cause === null) continue;
    const group = groups.get(cause);
    if (group === undefined) groups.set(cause, [job]);
    else group.push(job);
  }
  return Array.from(groups, ([cause, group]) => ({
    cause,
    count: group.length,
    examples: group.slice(0, maxExamples),
  })).toSorted((a, b) => b.count - a.count || (a.cause < b.cause ? -1 : 1));
}
