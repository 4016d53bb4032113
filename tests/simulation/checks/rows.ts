import { finalStatuses, JobStatus } from '../../../protocol/job.ts';

/** All events of the job lifecycle, as in job-lifecycle.ts. */
const events = [
  'offer',
  'claim',
  'run',
  'complete',
  'fail',
  'stopped',
  'stop',
  'silence',
  'back',
  'vanished',
  'lost',
  'release',
  'withdraw',
  'reject',
  'inputs_lost',
] as const;

/**
 * Pairs of event and status that the orchestrator never produces, with the reason. A run that reaches such a pair fails, because
 * this list is then wrong.
 */
const unreachable: readonly (readonly [events: string, statuses: readonly string[], why: string])[] = [
  ['offer', JobStatus.options.filter(status => status !== 'pending'), 'dispatch considers only pending jobs'],
  ['inputs_lost', JobStatus.options, 'no job of a run takes files of other jobs'],
  ['silence', ['pending', ...finalStatuses], 'a goodbye concerns the live job of a worker'],
  ['vanished', ['pending', 'dispatched', ...finalStatuses], 'absence concerns a claimed job'],
  ['lost', ['pending', 'starting', 'running', ...finalStatuses], 'a takeover follows silence'],
  [
    'withdraw',
    JobStatus.options.filter(status => status !== 'dispatched'),
    'only an open offer is withdrawn',
  ],
  ['back', ['cancelling'], 'a worker that reports a cancelling job is told to cancel it instead'],
];

export const cell = (status: string, event: string): string => `${status} × ${event}`;

const isUnreachable = (status: string, event: string): boolean =>
  unreachable.some(([name, statuses]) => name === event && statuses.includes(status));

const cells = JobStatus.options.flatMap(status => events.map(event => ({ status, event })));

const lifecycleRows: readonly string[] = cells
  .filter(({ status, event }) => !isUnreachable(status, event))
  .map(({ status, event }) => cell(status, event));

const unreachableRows: readonly string[] = cells
  .filter(({ status, event }) => isUnreachable(status, event))
  .map(({ status, event }) => cell(status, event));

/** Rows of the tables in docs/internals/semantics.md, section 5. A table line that covers several cases has several rows here. */
const claimRows = [
  'names its live attempt -> resume',
  'names a pending job, given up or withdrawn -> re-adopt',
  'names a pending job with a known end -> abandon',
  'names a pending job, but has another -> abandon',
  'names a superseded job -> abandon',
  'names an ended job -> abandon',
  'names a cancelling job -> cancel',
  'names an unknown job -> abandon',
  'names no job, has only an offer -> keeps it',
  'names no job, had claimed one -> vanished',
  'names no job, has none',
] as const;
export type ClaimRow = (typeof claimRows)[number];

const reportRows = [
  'the current attempt, live -> 200',
  'an older attempt of its own -> 409 superseded',
  'a former job of this worker -> 409 superseded',
  'the last attempt of a pending job -> 200, re-adopted',
  'the last attempt of a pending job, with a known end -> 409 or duplicate',
  'the last attempt of a pending job, busy with another -> 409 superseded',
  'the same status of an ended job -> 200, duplicate',
  'another status of an ended job -> 409 job_final',
  'a job of another worker -> 403',
  'a deleted job -> 404, stop',
] as const;
export type ReportRow = (typeof reportRows)[number];

const tableRows: readonly string[] = [
  ...claimRows.map(row => `register: ${row}`),
  ...claimRows.map(row => `beat: ${row}`),
  ...reportRows.map(row => `report: ${row}`),
];

/** Compares the reached rows with all rows. `reached`: how often the run reached each row. */
export function coverageOf(reached: ReadonlyMap<string, number>) {
  const rows = [...lifecycleRows, ...tableRows];
  return {
    rows: rows.length,
    missing: rows.filter(row => !reached.has(row)),
    /** Rows that were reached although they are listed as unreachable. */
    surprises: unreachableRows.filter(row => reached.has(row)),
  };
}
