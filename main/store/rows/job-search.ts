import type { Database, Statement } from 'better-sqlite3';
import type { JobFilter, JobPosition, StatusCount, Tx } from '../../orchestrator/ports/index.ts';
import { type Condition, conditionsOf, isUnfiltered, type Value } from './job-conditions.ts';
import type { JoinedRow } from './job-mapping.ts';
import {
  everyJob,
  isFoundByIndex,
  sortValues,
  type Source,
  sourcesOf,
  statusConditions,
} from './job-sources.ts';
import { isDependent, isQueued, isUnapproved } from './pending-sets.ts';

/** Counts all jobs by status. Uses indexes only, so 50,000 jobs take a few milliseconds. */
const allCounts = `
  SELECT status, NULL AS approval, count(*) AS count FROM jobs INDEXED BY jobs_ended_of_user
    WHERE ended_at IS NOT NULL GROUP BY status
  UNION ALL SELECT 'pending', NULL, count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_pending WHERE ${isQueued()}
    UNION ALL SELECT 1 FROM jobs INDEXED BY jobs_dependent WHERE ${isDependent()})
  UNION ALL SELECT 'pending', 'wanted', count(*) FROM jobs INDEXED BY jobs_unapproved WHERE ${isUnapproved()}
  UNION ALL SELECT j.status, NULL, count(*)
    FROM attempts a INDEXED BY one_live_attempt_per_job CROSS JOIN jobs j ON j.id = a.job_id
    WHERE a.ended_at IS NULL GROUP BY j.status`;

/** Maximum number of cached statements, one per combination of filters. People use a few; programs could create many. */
const maxStatements = 100;

export interface JobSearchStatements extends Pick<Tx, 'jobPosition' | 'countFound'> {
  findJobs(filter: JobFilter): readonly JoinedRow[];
}

/** `joined`: the SELECT clause for a job `j` and its newest attempt `a`. */
export function createJobSearch(db: Database, joined: string): JobSearchStatements {
  // SQLite's own `lower` and LIKE ignore case for ASCII letters only.
  db.function('in_one_case', { deterministic: true }, (text: unknown) => String(text).toLowerCase());
  const statements = new Map<string, Statement<Value[]>>();
  const prepared = (sql: string): Statement<Value[]> => {
    const statement = statements.get(sql) ?? db.prepare<Value[]>(sql);
    if (statements.size >= maxStatements) statements.clear();
    statements.set(sql, statement);
    return statement;
  };
  const countAll = db.prepare<[], StatusCount>(allCounts);
  return {
    findJobs(filter) {
      const page = pageOf(filter);
      return prepared(`WITH page AS MATERIALIZED (SELECT found, row_number() OVER () AS place FROM (${page.text}))
        ${joined} FROM page CROSS JOIN jobs j ON j.rowid = page.found
        LEFT JOIN attempts a ON a.job_id = j.id AND a.n = j.attempt_n ORDER BY page.place`).all(
        ...page.values,
        filter.limit,
        filter.offset,
      ) as JoinedRow[];
    },
    jobPosition: (id, sort) =>
      (prepared(`SELECT ${sortValues[sort]} AS value, j.ord AS "order" FROM jobs j WHERE j.id = ?`).get(id) as
        | JobPosition
        | undefined) ?? null,
    countFound(filter) {
      if (filter.includeFinal && isUnfiltered(filter)) return countAll.all();
      const counts = countOf(filter);
      return prepared(counts.text).all(...counts.values) as StatusCount[];
    },
  };
}

type Counted = Parameters<Tx['countFound']>[0];

function countOf({ includeFinal, user, workerId, search }: Counted): Condition {
  const content = conditionsOf({ user, workerId, search });
  const anyState = { includeFinal, statuses: [], blocked: false, search: { ...search, states: [] } };
  const sources = workerId !== null && includeFinal ? [everyJob] : sourcesOf(anyState);
  const counts = sources.map(
    ({ from, where, approval }) => `SELECT j.status AS status, ${approval} AS approval, count(*) AS count
      FROM ${from} WHERE ${[where, ...content.texts].join(' AND ')} GROUP BY 1, 2`,
  );
  return { text: counts.join(' UNION ALL '), values: sources.flatMap(() => content.values) };
}

/** Returns a sorted query for the rows of a page. The caller appends the limit and the offset to its values. @internal */
export function pageOf(filter: JobFilter): Condition {
  const { limit, offset } = filter;
  const sources = isFoundByIndex(filter) ? [everyJob] : sourcesOf(filter);
  const rows = sources.map(source => rowsOf(source, filter));
  const [first, second] = rows;
  if (first === undefined) return { text: 'SELECT 0 AS found WHERE false LIMIT ? OFFSET ?', values: [] };
  if (second === undefined) return first;
  // All rows of the page may come from one source, so each source returns its first `offset + limit` rows.
  return {
    text: `${rows.map(({ text }) => `SELECT * FROM (${text})`).join(' UNION ALL ')}
      ORDER BY ${orderOf(filter)} LIMIT ? OFFSET ?`,
    values: rows.flatMap(({ values }) => [...values, offset + limit, 0]),
  };
}

function rowsOf(source: Source, filter: JobFilter): Condition {
  const { sort } = filter;
  const content = conditionsOf(filter);
  const position = positionAfter(filter);
  const conditions = [source.where, ...content.texts, ...statusConditions(source, filter)].join(' AND ');
  const jobs = `SELECT j.rowid AS found, j.ord AS ord, ${source.values[sort]} AS value FROM ${source.from}
    WHERE ${conditions}`;
  // A list sorted by submission stops at the end of the page. A list with another order computes each job's value once.
  const rows =
    sort === 'submitted'
      ? `${jobs} AND ${position.text}`
      : `SELECT * FROM (${jobs} ${source.order} LIMIT -1) WHERE ${position.text}`;
  return {
    text: `${rows} ORDER BY ${orderOf(filter)} LIMIT ? OFFSET ?`,
    values: [...content.values, ...position.values],
  };
}

/** Among equal values, the newest job comes first. */
function orderOf({ sort, isDescending }: JobFilter): string {
  const direction = isDescending ? 'DESC' : 'ASC';
  return sort === 'submitted' ? `ord ${direction}` : `value ${direction} NULLS LAST, ord DESC`;
}

function positionAfter({ sort, isDescending, after }: JobFilter): Condition {
  if (after === null) return { text: 'true', values: [] };
  const beyond = isDescending ? '<' : '>';
  const { value, order } = after;
  if (sort === 'submitted') return { text: `j.ord ${beyond} ?`, values: [order] };
  if (value === null) return { text: 'value IS NULL AND ord < ?', values: [order] };
  const text = `(value IS NULL OR value ${beyond} ? OR (value = ? AND ord < ?))`;
  return { text, values: [value, value, order] };
}
