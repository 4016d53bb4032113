import type { JobFilter } from '../../orchestrator/ports/index.ts';

export type Value = string | number;

/** The filters of a job list, except statuses, states and page. */
export type ContentFilter = Pick<JobFilter, 'user' | 'workerId' | 'search'>;

/** A condition on `jobs j`, and the values to bind. */
export interface Condition {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Whether a filter matches every job. */
export function isUnfiltered({ user, workerId, search }: ContentFilter): boolean {
  const { users, workers, tags, groups, words } = search;
  return (
    user === null &&
    workerId === null &&
    [users, workers, tags, groups, words].every(({ length }) => length === 0)
  );
}

/** Selects the jobs that have or had an attempt on a worker. Uses indexes only. */
const jobsOn = `
  SELECT job_id FROM attempts INDEXED BY one_live_attempt_per_worker WHERE ended_at IS NULL AND worker_id = ?
  UNION ALL SELECT job_id FROM attempts INDEXED BY attempts_ended WHERE ended_at IS NOT NULL AND worker_id = ?
  UNION ALL SELECT job_id FROM attempt_nodes WHERE worker_id = ?`;

/** Conditions that must all hold. */
interface Conditions {
  readonly texts: string[];
  readonly values: Value[];
}

/** Translates a filter to SQL conditions on `jobs j`. */
export function conditionsOf({ user, workerId, search }: ContentFilter): Conditions {
  const found: Conditions = { texts: [], values: [] };
  const add = (text: string, ...values: readonly Value[]): void => {
    found.texts.push(text);
    found.values.push(...values);
  };
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
    addAny(found, [like(searchedText, pattern), ofWorkers(pattern, null)]);
  }
  return found;
}

/** Drops words that are part of another word: the longer word implies the shorter one, and every word costs time per row. */
const withoutContained = (words: readonly string[]): readonly string[] =>
  words.filter((word, at) =>
    words.every(
      (other, otherAt) => otherAt === at || !other.includes(word) || (other === word && otherAt > at),
    ),
  );

function addAny(found: Conditions, conditions: readonly Condition[]): void {
  found.texts.push(`(${conditions.map(({ text }) => text).join(' OR ')})`);
  found.values.push(...conditions.flatMap(({ values }) => values));
}

/** The index `jobs_list` contains this expression. */
const searchedText = `(j.id || char(10) || coalesce(j.name, '') || char(10) || j.config_name || char(10) || j.user
  || char(10) || coalesce(j.error, ''))`;

/** Whether all letters that have a case are ASCII. */
function hasOnlyAsciiCase(text: string): boolean {
  const others = text.replace(/[ -~]+/g, '');
  return others.toUpperCase() === others.toLowerCase();
}

/** Matches a LIKE pattern, ignoring case. SQLite ignores case only for ASCII letters, so others need the slower `in_one_case`. */
const like = (column: string, pattern: string): Condition =>
  hasOnlyAsciiCase(pattern)
    ? { text: `${column} LIKE ? ESCAPE '\\'`, values: [pattern] }
    : { text: `in_one_case(${column}) LIKE ? ESCAPE '\\'`, values: [pattern] };

/** Matches jobs with this tag. Checks for an empty list first, because most jobs have no tags, and parsing takes longer. */
function hasTag(tag: string): Condition {
  const isTag = like('value', escaped(tag));
  return {
    text: `(j.tags <> '[]' AND EXISTS (SELECT 1 FROM json_each(j.tags) WHERE ${isTag.text}))`,
    values: isTag.values,
  };
}

/**
 * Matches jobs whose newest attempt is on a worker with a matching name or id. Deleted workers match, too. `id`: the SQL
 * expression for the id; null to match only names.
 */
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
/** Converts `*` to `%`. Merges consecutive `*`, because each `%` costs time. */
const globOf = (glob: string): string => escaped(glob).replace(/\*+/g, '%');
