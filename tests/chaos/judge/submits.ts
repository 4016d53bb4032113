import type { ClientLine } from '../journal.ts';
import { finals, type Violation } from './violation.ts';

/** Checks that each submission answered with 200 created one job, which has ended, and that there are no other jobs. */
export function judgeSubmits(
  lines: readonly ClientLine[],
  statuses: ReadonlyMap<string, string>,
): readonly Violation[] {
  const accepted = lines.filter(line => line.kind === 'answer').filter(({ id }) => id !== null);
  const ids = new Set(accepted.map(({ id }) => id ?? ''));
  const lost = [...ids].flatMap(id => {
    const status = statuses.get(id);
    if (status === undefined) return [{ rule: 'accepted jobs exist', what: 'it does not exist', job: id }];
    return finals.has(status) ? [] : [{ rule: 'jobs end', what: `it is still ${status}`, job: id }];
  });
  const byNumber = Map.groupBy(accepted, ({ n }) => n);
  const twice = [...byNumber].flatMap(([n, own]) => {
    const several = new Set(own.map(({ id }) => id));
    return several.size > 1
      ? [{ rule: 'one job per key', what: `submission ${n} created the jobs ${[...several].join(', ')}` }]
      : [];
  });
  return [...lost, ...twice, ...judgeExtra(lines, ids, statuses)];
}

/** Checks for extra jobs. Only a submission without a key whose answer was lost may have created one. */
function judgeExtra(
  lines: readonly ClientLine[],
  ids: ReadonlySet<string>,
  statuses: ReadonlyMap<string, string>,
): readonly Violation[] {
  const answers = Map.groupBy(
    lines.filter(line => line.kind === 'answer'),
    ({ n }) => n,
  );
  const unsure = [...answers.values()].filter(
    own => own.every(({ id }) => id === null) && own.some(({ status }) => status === null),
  );
  const extra = [...statuses.keys()].filter(id => !ids.has(id));
  return extra.length <= unsure.length
    ? []
    : [
        {
          rule: 'one job per submission',
          what: `${extra.length} jobs have no submission, ${unsure.length} submissions were never answered: ${extra.join(', ')}`,
        },
      ];
}

const allowed: ReadonlySet<number> = new Set([503, 507]);

/** Checks that clients received no server errors except 503 and 507. */
export function judgeAnswers(lines: readonly ClientLine[]): readonly Violation[] {
  return lines.flatMap(line => {
    if (line.kind === 'submit' || line.status === null || line.status < 500 || allowed.has(line.status))
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
