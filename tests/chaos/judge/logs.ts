import type { FollowLine } from '../journal.ts';
import { type AttemptEvidence, type JobCase, runsOf, type Violation } from './violation.ts';

/** Checks that the log of each attempt equals the output of its trainer, byte for byte. */
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
  const isUnsure = runs.some(({ code }) => code === null);
  if (isUnsure && printed.startsWith(log) && log.length >= texts.slice(0, -1).join('').length) return [];
  const at = differenceOf(log, printed);
  const what =
    log.length === at
      ? `attempt ${attempt.attempt}: the log ends after ${at} of ${printed.length} characters (${attempt.outcome})`
      : `attempt ${attempt.attempt}: the log differs at character ${at}: ${JSON.stringify(log.slice(at, at + 60))}, but the trainer printed ${JSON.stringify(printed.slice(at, at + 60))}`;
  return [{ rule: 'logs match the printed output', what, job: job.id }];
}

function differenceOf(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** Checks that a client that followed a log received each line once, in the order of the log. */
export function judgeFollowing(
  followed: readonly FollowLine[],
  logOf: (id: string, attempt: number) => string | null,
): readonly Violation[] {
  const groups = Map.groupBy(followed, ({ id, attempt }) => `${id} ${attempt}`);
  return [...groups.values()].flatMap(own => {
    const { id, attempt } = own[0]!;
    const found = (what: string): readonly Violation[] => [
      { rule: 'a followed log is complete', what: `attempt ${attempt}: ${what}`, job: id },
    ];
    const received = own.filter(line => line.kind === 'line');
    const at = received.findIndex(({ line }, n) => line !== n);
    if (at >= 0) return found(`received line ${received[at]?.line} instead of line ${at}`);
    const lines = (logOf(id, attempt) ?? '').split('\n');
    const wrong = received.find(({ line, text }) => lines[line] !== text);
    if (wrong !== undefined)
      return found(`received line ${wrong.line} as ${wrong.text}, but the log has ${lines[wrong.line]}`);
    const isEnded = own.some(({ kind }) => kind === 'end');
    const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
    return isEnded && received.length < count
      ? found(`it ended after ${received.length} of ${count} lines`)
      : [];
  });
}
