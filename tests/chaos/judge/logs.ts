import type { FollowLine } from '../journal.ts';
import { type AttemptEvidence, type JobCase, runsOf, type Violation } from './violation.ts';

/** Checks that the log of each attempt equals the output of its trainer. */
export function judgeLogs(jobCase: JobCase): readonly Violation[] {
  return jobCase.evidence.job.attempts.flatMap(attempt => judgeLog(jobCase, attempt));
}

function judgeLog(jobCase: JobCase, attempt: AttemptEvidence): readonly Violation[] {
  const { job, logs } = jobCase.evidence;
  const log = logs.get(attempt.attempt) ?? '';
  const runs = runsOf(jobCase, attempt);
  const texts = runs
    .flatMap(({ lines }) => lines)
    .filter(line => line.kind === 'step')
    .map(({ text }) => text);
  const printed = texts.join('');
  if (log === printed) return [];
  // A killed process may have written its last line to the journal but not to its output.
  const wasKilled = runs.some(({ code }) => code === null);
  const withoutLastLine = texts.slice(0, -1).join('');
  if (wasKilled && printed.startsWith(log) && log.length >= withoutLastLine.length) return [];
  const difference = describeDifference(log, printed);
  const what = `attempt ${attempt.attempt}: ${difference} (${attempt.outcome})`;
  return [{ rule: 'logs match the printed output', what, job: job.id }];
}

function describeDifference(log: string, printed: string): string {
  let index = 0;
  while (index < log.length && log[index] === printed[index]) index += 1;
  if (index === log.length) return `the log ends after ${index} of ${printed.length} characters`;
  const excerptOf = (text: string): string => JSON.stringify(text.slice(index, index + 60));
  return `the log differs at character ${index}: ${excerptOf(log)}, but the trainer printed ${excerptOf(printed)}`;
}

/** Checks that clients which followed a log received each line once, in order. */
export function judgeFollowing(
  followed: readonly FollowLine[],
  logOf: (id: string, attempt: number) => string | null,
): readonly Violation[] {
  const groups = Map.groupBy(followed, ({ id, attempt }) => `${id} ${attempt}`);
  return [...groups.values()].flatMap(lines => {
    const { id, attempt } = lines[0]!;
    const problem = findProblem(lines, logOf(id, attempt) ?? '');
    if (problem === null) return [];
    return [{ rule: 'a followed log is complete', what: `attempt ${attempt}: ${problem}`, job: id }];
  });
}

/** Compares the received lines of one attempt with its log. Describes the first difference; null when there is none. */
function findProblem(followed: readonly FollowLine[], log: string): string | null {
  const received = followed.filter(line => line.kind === 'line');
  const gap = received.findIndex(({ line }, index) => line !== index);
  if (gap >= 0) return `received line ${received[gap]?.line} instead of line ${gap}`;
  const lines = log.split('\n');
  const wrong = received.find(({ line, text }) => lines[line] !== text);
  if (wrong !== undefined)
    return `received line ${wrong.line} as ${wrong.text}, but the log has ${lines[wrong.line]}`;
  const hasEnded = followed.some(({ kind }) => kind === 'end');
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  return hasEnded && received.length < count ? `it ended after ${received.length} of ${count} lines` : null;
}
