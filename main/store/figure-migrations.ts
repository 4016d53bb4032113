/** Running totals of ended jobs; a later step follows in migrations.ts. */

/** A slot is a quarter of an hour. It is part of the schema: another length needs a new migration. */
export const slotMs = 900_000;

/** Triggers that add a row to its totals while `condition` holds, and subtract it when it changes or is deleted. */
function keepTotals(
  table: string,
  name: string,
  columns: string,
  condition: (row: 'NEW' | 'OLD') => string,
  add: (row: 'NEW' | 'OLD', sign: '' | '-') => string,
): string {
  const trigger = (suffix: string, event: string, row: 'NEW' | 'OLD', sign: '' | '-'): string => `
  DROP TRIGGER IF EXISTS ${name}_${suffix};
  CREATE TRIGGER ${name}_${suffix} AFTER ${event} ON ${table} WHEN ${condition(row)}
  BEGIN ${add(row, sign)}
  END;`;
  return [
    trigger('inserted', 'INSERT', 'NEW', ''),
    trigger('deleted', 'DELETE', 'OLD', '-'),
    trigger('changed_from', `UPDATE OF ${columns}`, 'OLD', '-'),
    trigger('changed_to', `UPDATE OF ${columns}`, 'NEW', ''),
  ].join('');
}

const isStatus = (row: string, sign: string, status: string): string =>
  `${sign}(${row}.status = '${status}')`;

const jobTriggers = keepTotals(
  'jobs',
  'ended_jobs',
  'status, ended_at, user, waited_ms, ran_ms',
  row => `${row}.ended_at IS NOT NULL`,
  (row, sign) => `
    INSERT INTO ended_totals (user, status, jobs) VALUES (${row}.user, ${row}.status, ${sign}1)
      ON CONFLICT (user, status) DO UPDATE SET jobs = jobs + excluded.jobs;
    INSERT INTO ended_slots (slot, jobs, completed, failed, cancelled, waited, waited_ms, ran, ran_ms)
      VALUES (${row}.ended_at / ${slotMs}, ${sign}1, ${isStatus(row, sign, 'completed')}, ${isStatus(row, sign, 'failed')},
        ${isStatus(row, sign, 'cancelled')}, ${sign}(${row}.waited_ms IS NOT NULL), ${sign}coalesce(${row}.waited_ms, 0),
        ${sign}(${row}.ran_ms IS NOT NULL), ${sign}coalesce(${row}.ran_ms, 0))
      ON CONFLICT (slot) DO UPDATE SET jobs = jobs + excluded.jobs, completed = completed + excluded.completed,
        failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled,
        waited = waited + excluded.waited, waited_ms = waited_ms + excluded.waited_ms,
        ran = ran + excluded.ran, ran_ms = ran_ms + excluded.ran_ms;${
          sign === '-'
            ? `
    DELETE FROM ended_totals WHERE user = ${row}.user AND status = ${row}.status AND jobs = 0;
    DELETE FROM ended_slots WHERE slot = ${row}.ended_at / ${slotMs} AND jobs = 0;`
            : ''
        }`,
);

const addEdge = (row: string, column: string, sign: '' | '-', edgeSign: '' | '-'): string => `
    INSERT INTO gpu_slots (slot, edges, gpus, offset_ms) VALUES (${row}.${column} / ${slotMs}, ${sign}1,
        ${edgeSign}${row}.gpus, ${edgeSign}${row}.gpus * (${row}.${column} % ${slotMs}))
      ON CONFLICT (slot) DO UPDATE SET edges = edges + excluded.edges, gpus = gpus + excluded.gpus,
        offset_ms = offset_ms + excluded.offset_ms;${
          sign === '-'
            ? `
    DELETE FROM gpu_slots WHERE slot = ${row}.${column} / ${slotMs} AND edges = 0;`
            : ''
        }`;

const attemptTriggers = keepTotals(
  'attempts',
  'ended_attempts',
  'started_at, ended_at, gpus',
  row => `${row}.ended_at > ${row}.started_at`,
  (row, sign) =>
    addEdge(row, 'started_at', sign, sign) + addEdge(row, 'ended_at', sign, sign === '' ? '-' : ''),
);

export const figureMigrations: readonly string[] = [
  `
  -- Figures of the queue are read from totals of a quarter of an hour each, so their cost does not grow with the number of jobs.
  DROP TABLE IF EXISTS ended_totals;
  CREATE TABLE ended_totals (
    user TEXT NOT NULL,
    status TEXT NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (user, status)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO ended_totals (user, status, jobs)
    SELECT user, status, count(*) FROM jobs WHERE ended_at IS NOT NULL GROUP BY user, status;

  DROP TABLE IF EXISTS ended_slots;
  CREATE TABLE ended_slots (
    slot INTEGER PRIMARY KEY,
    jobs INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    waited INTEGER NOT NULL,
    waited_ms INTEGER NOT NULL,
    ran INTEGER NOT NULL,
    ran_ms INTEGER NOT NULL
  ) STRICT;
  INSERT INTO ended_slots (slot, jobs, completed, failed, cancelled, waited, waited_ms, ran, ran_ms)
    SELECT ended_at / ${slotMs}, count(*), sum(status = 'completed'), sum(status = 'failed'), sum(status = 'cancelled'),
      count(waited_ms), coalesce(sum(waited_ms), 0), count(ran_ms), coalesce(sum(ran_ms), 0)
    FROM jobs WHERE ended_at IS NOT NULL GROUP BY 1;

  -- The start of an attempt adds its GPUs and the end subtracts them. An attempt that ends before it starts, which a clock that
  -- is set back can cause, adds nothing.
  DROP TABLE IF EXISTS gpu_slots;
  CREATE TABLE gpu_slots (
    slot INTEGER PRIMARY KEY,
    edges INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    offset_ms INTEGER NOT NULL
  ) STRICT;
  INSERT INTO gpu_slots (slot, edges, gpus, offset_ms)
    SELECT at / ${slotMs}, count(*), sum(gpus), sum(gpus * (at % ${slotMs}))
    FROM (SELECT started_at AS at, gpus FROM attempts WHERE ended_at > started_at
      UNION ALL SELECT ended_at, -gpus FROM attempts WHERE ended_at > started_at)
    GROUP BY 1;
  ${jobTriggers}
  ${attemptTriggers}
  DROP INDEX IF EXISTS jobs_ended_of_user;
  DROP INDEX IF EXISTS attempts_ended;
  CREATE INDEX attempts_ended ON attempts (ended_at, gpus) WHERE ended_at > started_at;
  DROP INDEX IF EXISTS attempts_started;
  CREATE INDEX attempts_started ON attempts (started_at, gpus) WHERE ended_at > started_at;
  `,
];
