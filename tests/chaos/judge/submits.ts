import type { ClientLine } from '../journal.ts';
import { finalStatuses, type Violation } from './violation.ts';

/** Checks that each accepted submission created exactly one job, that all jobs have ended, and that no other jobs exist. */
export function judgeSubmits(
  lines: readonly ClientLine[],
  statuses: ReadonlyMap<string, string>,
): readonly Violation[] {
  const accepted = lines.filter(line => line.kind === 'answer').filter(({ id }) => id !== null);
  const ids = new Set(accepted.map(({ id }) => id ?? ''));
  const lost = [...ids].flatMap(id => {
    const status = statuses.get(id);
    if (status === undefined)
      return [{ rule: 'accepted jobs exist', what: 'the job does not exist', job: id }];
    return finalStatuses.has(status)
      ? []
      : [{ rule: 'jobs end', what: `the job is still ${status}`, job: id }];
  });
  const byNumber = Map.groupBy(accepted, ({ n }) => n);
  const duplicates = [...byNumber].flatMap(([n, answers]) => {
    const jobs = new Set(answers.map(({ id }) => id));
    return jobs.size > 1
      ? [{ rule: 'one job per key', what: `submission ${n} created the jobs ${[...jobs].join(', ')}` }]
      : [];
  });
  return [...lost, ...duplicates, ...judgeExtra(lines, ids, statuses)];
}

/**
 * Checks for jobs that no response has confirmed. Allows one such job for each submission that was never confirmed and lost at
 * least one response.
 */
function judgeExtra(
  lines: readonly ClientLine[],
  ids: ReadonlySet<string>,
  statuses: ReadonlyMap<string, string>,
): readonly Violation[] {
  const answers = Map.groupBy(
    lines.filter(line => line.kind === 'answer'),
    ({ n }) => n,
  );
  const unanswered = [...answers.values()].filter(
    tries => tries.every(({ id }) => id === null) && tries.some(({ status }) => status === null),
  );
  const extra = [...statuses.keys()].filter(id => !ids.has(id));
  if (extra.length <= unanswered.length) return [];
  const what = `${extra.length} jobs have no submission, ${unanswered.length} submissions got no response: ${extra.join(', ')}`;
  return [{ rule: 'one job per submission', what }];
}

const allowedErrors: ReadonlySet<number> = new Set([503, 507]);

/** Checks that clients received no server errors except 503 and 507. */
export function judgeAnswers(lines: readonly ClientLine[]): readonly Violation[] {
  return lines.flatMap(line => {
    if (line.kind === 'submit' || line.status === null || line.status < 500 || allowedErrors.has(line.status))
      return [];
    return [{ rule: 'no internal errors', what: `${callOf(line)} returned status ${line.status}` }];
  });
}

function callOf(line: Exclude<ClientLine, { kind: 'submit' }>): string {
  switch (line.kind) {
    case 'answer':
      return `submit ${line.n}`;
    case 'call':
      return line.call;
    case 'cancel':
      return 'cancel';
  }
}
