import { transition } from '../../support/database-evidence.ts';
import { historyViolations } from '../../support/invariants-history.ts';
import type { EventLine } from '../../support/stream-record.ts';
import type { AuditEvidence } from '../evidence.ts';
import { finalStatuses, type Violation } from './violation.ts';

/** The events that a client received from the event stream. */
export interface ReceivedEvents {
  readonly events: readonly EventLine[];
  /** Descriptions of gaps, repetitions and resets in the numbers of the events. */
  readonly faults: readonly string[];
  /** The number of the last event according to the API. */
  readonly lastSeq: number;
}

/**
 * Checks that the event stream has no gaps or repetitions, that no impossible transition occurs, and that the last event of each
 * job matches its status.
 */
export function judgeEvents(
  { events, faults, lastSeq }: ReceivedEvents,
  statuses: ReadonlyMap<string, string>,
): readonly Violation[] {
  const last = events.at(-1)?.seq ?? 0;
  const streamErrors = [...faults];
  if (last < lastSeq) streamErrors.push(`the stream ends with ${last} of ${lastSeq}`);
  /** The type of the last event that changed the status of a job, by job id. */
  const lastTypes = new Map<string, string>();
  for (const { kind, type, job_id: id } of events)
    if (kind === 'job' && id && !['job.late_result', 'job.outstanding', 'job.best_loss'].includes(type))
      lastTypes.set(id, type);
  const mismatches = [...statuses].filter(
    ([id, status]) => finalStatuses.has(status) && lastTypes.get(id) !== `job.${status}`,
  );
  return [
    ...streamErrors.map(what => ({ rule: 'the event stream is complete', what })),
    ...historyViolations(events).map(what => ({ rule: 'history is possible', what, ...jobIn(what) })),
    ...mismatches.map(([id, status]) => ({
      rule: 'the last event of a job matches its status',
      what: `the job is ${status}, but its last event is ${lastTypes.get(id)}`,
      job: id,
    })),
  ];
}

/** Extracts the id of a job from a description. */
const jobIn = (what: string): { readonly job?: string } => {
  const [id] = /\bj_\w+/.exec(what) ?? [];
  return id === undefined ? {} : { job: id };
};

/** Checks that the audit trail verifies, and that it has one row for each transition in the events, in the same order. */
export function judgeAudit(
  { rows, verdict }: AuditEvidence,
  events: readonly EventLine[],
): readonly Violation[] {
  const isValid =
    typeof verdict === 'object' && verdict !== null && 'valid' in verdict && verdict.valid === true;
  const broken = isValid ? [] : [{ rule: 'the audit trail verifies', what: JSON.stringify(verdict) }];
  const audited = rows
    .filter(row => isTransition.test(row.event_type))
    .map(row => transition(row.event_type, row.target_id, row.details.attempt ?? null));
  const received = events
    .filter(
      ({ kind, type }) =>
        kind !== 'reset' && !['job.progress', 'job.outstanding', 'job.best_loss'].includes(type),
    )
    .map(({ type, job_id: job, worker_id: worker, attempt }) =>
      transition(type, job ?? worker ?? '', attempt),
    );
  const index = received.findIndex((event, position) => event !== audited[position]);
  if (index < 0) return broken;
  const what = `transition ${index + 1} is "${received[index]}" in the events, but "${audited[index]}" in the audit trail`;
  return [...broken, { rule: 'one audit row per transition', what }];
}

/** Matches event types that record a change of state. A refused report changes nothing. */
const isTransition = /^(?:worker|queue|job)\.(?!report_refused$)/;
