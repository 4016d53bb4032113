import type { Database, Statement } from 'better-sqlite3';
import { liveStatuses } from '../../../protocol/job.ts';
import { jobStates, type JobSort } from '../../../protocol/job-search.ts';
import type { JobFilter, JobPlace, StatusCount, Tx } from '../../orchestrator/ports/index.ts';
import type { JoinedRow } from './job-mapping.ts';
import { isDependent, isQueued, isUnapproved } from './pending-sets.ts';

type Value = string | number;
type Filter = Pick<JobFilter, 'includeFinal' | 'user' | 'workerId' | 'search'>;

/** Conditions on `jobs j` and their bound values, in the same order. */
interface Conditions {
  readonly texts: string[];
  readonly values: Value[];
}

const percent =
  "coalesce(j.progress ->> '$.percent', 100.0 * (j.progress ->> '$.step') / (j.progress ->> '$.total_steps'))";
const states = jobStates.map((state, at) => `WHEN '${state}' THEN ${at}`).join(' ');
const isBlocked = `(${isUnapproved('j.')})`;
const state = `CASE WHEN j.status = 'pending' AND j.approval = 'wanted' THEN 'blocked'
  WHEN j.status = 'dispatched' THEN 'starting' ELSE j.status END`;

/** Value that each order compares; nulls sort last. The panel computes the same values (`job-order.ts`). */
const sortValues: Readonly<Record<JobSort, string>> = {
  submitted: 'j.ord',
  name: 'lower(coalesce(j.name, j.config_name))',
  state: `(CASE ${state} ${states} END)`,
  priority: 'j.priority',
  worker: '(SELECT lower(w.name) FROM workers w WHERE w.id = j.worker_id)',
  progress: `iif(j.status = 'completed', 100.0, iif(j.status = 'pending', NULL, ${percent}))`,
  eta: `iif(j.status = 'running', coalesce(j.progress ->> '$.eta_s', ((j.progress ->> '$.total_steps')
    - (j.progress ->> '$.step')) / nullif(j.progress ->> '$.steps_per_second', 0)), NULL)`,
  loss: "iif(j.status = 'pending', NULL, j.progress ->> '$.loss')",
};

/** Matches jobs that have not ended, without scanning those that have. */
const unended = `j.rowid IN (
  SELECT rowid FROM jobs INDEXED BY jobs_pending WHERE ${isQueued()}
  UNION ALL SELECT rowid FROM jobs INDEXED BY jobs_dependent WHERE ${isDependent()}
  UNION ALL SELECT rowid FROM jobs INDEXED BY jobs_unapproved WHERE ${isUnapproved()}
  UNION ALL SELECT r.rowid FROM attempts a INDEXED BY one_live_attempt_per_job JOIN jobs r ON r.id = a.job_id
    WHERE a.ended_at IS NULL)`;
const notFinal: ReadonlySet<string> = new Set(['pending', ...liveStatuses]);

/** The jobs of which an attempt is or was on a worker. Uses indexes only. */
const jobsOn = `
  SELECT job_id FROM attempts INDEXED BY one_live_attempt_per_worker WHERE ended_at IS NULL AND worker_id = ?
  UNION ALL SELECT job_id FROM attempts INDEXED BY attempts_ended WHERE ended_at IS NOT NULL AND worker_id = ?
  UNION ALL SELECT job_id FROM attempt_nodes WHERE worker_id = ?`;

/** Uses indexes only: a few milliseconds for 50,000 jobs. */
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

/** Each combination of filters is a separate statement. People use a few; programs could create many. */
const maxStatements = 100;

export interface JobSearchStatements extends Pick<Tx, 'jobPlace' | 'countFound'> {
  findJobs(filter: JobFilter): readonly JoinedRow[];
}

/** `joined` selects a job `j` and its newest attempt `a`. */
export function createJobSearch(db: Database, joined: string): JobSearchStatements {
  // SQLite's own `lower` and LIKE ignore case for ASCII letters only.
  db.function('in_one_case', { deterministic: true }, (text: unknown) => String(text).toLowerCase());
  const statements = new Map<string, Statement<Value[]>>();
  const prepared = (sql: string): Statement<Value[]> => {
    const known = statements.get(sql) ?? db.prepare<Value[]>(sql);
    if (statements.size >= maxStatements) statements.clear();
    statements.set(sql, known);
    return known;
  };
  const countAll = db.prepare<[], StatusCount>(allCounts);
  return {
    findJobs(filter) {
      const found = conditionsOf(filter);
      addStatuses(found, filter);
      const page = filter.sort === 'submitted' ? submittedPage(found, filter) : sortedPage(found, filter);
      return prepared(`WITH page AS MATERIALIZED (SELECT found, row_number() OVER () AS place FROM (${page.text}))
        ${joined} FROM page CROSS JOIN jobs j ON j.rowid = page.found
        LEFT JOIN attempts a ON a.job_id = j.id AND a.n = j.attempt_n ORDER BY page.place`).all(
        ...page.values,
        filter.limit,
        filter.offset,
      ) as JoinedRow[];
    },
    jobPlace: (id, sort) =>
      (prepared(`SELECT ${sortValues[sort]} AS value, j.ord AS "order" FROM jobs j WHERE j.id = ?`).get(id) as
        | JobPlace
        | undefined) ?? null,
    countFound(filter) {
      const found = conditionsOf(filter);
      if (found.texts.length === 0) return countAll.all();
      return prepared(`SELECT j.status AS status, j.approval AS approval, count(*) AS count FROM jobs j
        WHERE ${whereOf(found)} GROUP BY 1, 2`).all(...found.values) as StatusCount[];
    },
  };
}

const whereOf = ({ texts }: Conditions): string => (texts.length === 0 ? 'true' : texts.join(' AND '));

/** Returns the conditions of a filter, except statuses, states and place. */
function conditionsOf({ includeFinal, user, workerId, search }: Filter): Conditions {
  const found: Conditions = { texts: [], values: [] };
  const add = (text: string, ...values: readonly Value[]): void => {
    found.texts.push(text);
    found.values.push(...values);
  };
  if (!includeFinal) add(unended);
  if (user !== null) add('j.user = ?', user);
  if (workerId !== null) add(`j.id IN (${jobsOn})`, workerId, workerId, workerId);
  if (search.users.length > 0)
    addAny(
      found,
      search.users.map(name => like('j.user', globOf(name))),
    );
  if (search.workers.length > 0)
    addAny(
      found,
      search.workers.map(name => ofWorkers(globOf(name), 'lower(id)')),
    );
  if (search.groups.length > 0)
    addAny(
      found,
      search.groups.map(name => like('j.group_name', globOf(name))),
    );
  for (const tag of search.tags) addAny(found, [hasTag(tag)]);
  for (const word of withoutContained(search.words)) {
    const pattern = `%${escaped(word)}%`;
    addAny(found, [...ofJob(pattern), ofWorkers(pattern, null)]);
  }
  return found;
}

/** Drops words contained in others: every word costs time per row, and the longer word implies the shorter one. */
const withoutContained = (words: readonly string[]): readonly string[] =>
  words.filter((word, at) =>
    words.every((other, place) => place === at || !other.includes(word) || (other === word && place > at)),
  );

interface Condition {
  readonly text: string;
  readonly values: readonly Value[];
}

function addAny(found: Conditions, conditions: readonly Condition[]): void {
  found.texts.push(`(${conditions.map(({ text }) => text).join(' OR ')})`);
  found.values.push(...conditions.flatMap(({ values }) => values));
}

const isAscii = (text: string): boolean => /^[ -~]*$/.test(text);
const ownColumns = ['j.id', "coalesce(j.name, '')", 'j.config_name', 'j.user', "coalesce(j.error, '')"];

/** Calling `in_one_case` takes longer than concatenating the columns, so it is called once. */
const ofJob = (pattern: string): readonly Condition[] =>
  isAscii(pattern)
    ? ownColumns.map(column => like(column, pattern))
    : [like(ownColumns.join(' || char(10) || '), pattern)];

/** Uses SQLite's fast ASCII comparison where possible; otherwise converts each value to lower case first. */
const like = (column: string, pattern: string): Condition =>
  isAscii(pattern)
    ? { text: `${column} LIKE ? ESCAPE '\\'`, values: [pattern] }
    : { text: `in_one_case(${column}) LIKE ? ESCAPE '\\'`, values: [pattern] };

/** Compares the JSON first: most jobs have no tags, and to parse the list takes longer. */
function hasTag(tag: string): Condition {
  const isTag = like('value', escaped(tag));
  return {
    text: `(j.tags <> '[]' AND EXISTS (SELECT 1 FROM json_each(j.tags) WHERE ${isTag.text}))`,
    values: isTag.values,
  };
}

/** Matches jobs whose newest attempt is on such a worker, including deleted workers. */
function ofWorkers(pattern: string, id: string | null): Condition {
  const names = [like('name', pattern), ...(id === null ? [] : [like(id, pattern)])];
  const workers = `SELECT id FROM workers WHERE ${names.map(({ text }) => text).join(' OR ')}`;
  const values = names.flatMap(name => name.values);
  return {
    text: `j.worker_id IN (${workers})`,
    values,
  };
}

const escaped = (text: string): string => text.replace(/[\\%_]/g, '\\$&');
/** Converts `*` to `%`; merges consecutive ones because each costs time. */
const globOf = (glob: string): string => escaped(glob).replace(/\*+/g, '%');

function addStatuses(found: Conditions, { statuses, blocked, search, includeFinal }: JobFilter): void {
  const lists = [
    { column: 'j.status', names: statuses, orBlocked: statuses.includes('blocked') },
    { column: state, names: search.states, orBlocked: false },
  ].filter(({ names }) => names.length > 0);
  for (const { column, names, orBlocked } of lists) {
    const isNamed = `${column} IN (SELECT value FROM json_each(?))`;
    found.texts.push(orBlocked ? `(${isNamed} OR ${isBlocked})` : isNamed);
    found.values.push(JSON.stringify(names));
  }
  if (blocked) found.texts.push(isBlocked);
  const isUnended = blocked || lists.some(({ names }) => names.every(name => isUnfinished(name)));
  if (includeFinal && isUnended) found.texts.push(unended);
}

const isUnfinished = (name: string): boolean => name === 'blocked' || notFinal.has(name);

/** Reads no further than the end of the page. */
function submittedPage(found: Conditions, { isDescending, after }: JobFilter): Condition {
  const place = after === null ? 'true' : `j.ord ${isDescending ? '<' : '>'} ?`;
  return {
    text: `SELECT j.rowid AS found FROM jobs j WHERE ${whereOf(found)} AND ${place}
      ORDER BY j.ord ${isDescending ? 'DESC' : 'ASC'} LIMIT ? OFFSET ?`,
    values: [...found.values, ...(after === null ? [] : [after.order])],
  };
}

/** Computes each job's value once. Among equal values, the newest job comes first. */
function sortedPage(found: Conditions, { sort, isDescending, after }: JobFilter): Condition {
  const place = placeAfter(after, isDescending ? '<' : '>');
  return {
    text: `SELECT found FROM (
        SELECT j.rowid AS found, j.ord AS ord, ${sortValues[sort]} AS value FROM jobs j
        WHERE ${whereOf(found)} LIMIT -1)
      WHERE ${place.text} ORDER BY value IS NULL, value ${isDescending ? 'DESC' : 'ASC'}, ord DESC LIMIT ? OFFSET ?`,
    values: [...found.values, ...place.values],
  };
}

function placeAfter(after: JobPlace | null, beyond: string): Condition {
  if (after === null) return { text: 'true', values: [] };
  const { value, order } = after;
  if (value === null) return { text: 'value IS NULL AND ord < ?', values: [order] };
  const text = `(value IS NULL OR value ${beyond} ? OR (value = ? AND ord < ?))`;
  return { text, values: [value, value, order] };
}
