/** Checks invariants of docs/internals/faults.md, section 1, on the events of a run. */
import type { EventLine } from './stream-record.ts';

const finals = new Set(['job.completed', 'job.failed', 'job.cancelled']);
const closing = new Set([...finals, 'job.requeued']);
/** Event types that reopen the last attempt of a pending job, because its former worker continues the attempt. */
const reopening = new Set(['job.starting', 'job.running']);

/** The last dispatch of a job. */
interface Dispatch {
  readonly attempt: number;
  readonly worker: string | null;
}

const notDispatched: Dispatch = { attempt: 0, worker: null };

/**
 * Checks I2, I3, I4 and I8 in one pass over the events, which must be in the order of their numbers. Returns one line per
 * violation.
 */
export function historyViolations(events: readonly EventLine[]): readonly string[] {
  const violations: string[] = [];
  const lastDispatches = new Map<string, Dispatch>();
  /** The worker of each live attempt, by job id. */
  const live = new Map<string, string>();
  /** The event type with which each ended job ended, by job id. */
  const final = new Map<string, string>();
  const draining = new Set<string>();

  const openAttempt = (job: string, worker: string | null, event: EventLine): void => {
    if (live.has(job)) violations.push(`I2 event ${event.seq}: ${job} has two live attempts`);
    const otherJob = [...live].find(([id, holder]) => id !== job && holder === worker);
    if (otherJob !== undefined)
      violations.push(`I2 event ${event.seq}: ${worker} holds ${otherJob[0]} and ${job}`);
    if (worker !== null) live.set(job, worker);
  };

  const checkJobEvent = (job: string, event: EventLine): void => {
    const ended = final.get(job);
    // These events do not change the status of a job.
    if (['job.late_result', 'job.outstanding', 'job.best_loss'].includes(event.type)) return;
    if (ended !== undefined) violations.push(`I3 event ${event.seq}: ${event.type} of ${job} after ${ended}`);
    if (event.type === 'job.dispatched') {
      const worker = event.worker_id ?? null;
      if (worker !== null && draining.has(worker)) {
        violations.push(`I8 event ${event.seq}: ${job} was dispatched to the draining worker ${worker}`);
      }
      const previous = lastDispatches.get(job) ?? notDispatched;
      if (event.attempt !== previous.attempt + 1) {
        violations.push(
          `I4 event ${event.seq}: attempt ${event.attempt} of ${job} after ${previous.attempt}`,
        );
      }
      openAttempt(job, worker, event);
      lastDispatches.set(job, { attempt: event.attempt, worker });
    } else {
      const { attempt, worker } = lastDispatches.get(job) ?? notDispatched;
      if (event.attempt !== attempt || (event.worker_id ?? null) !== worker) {
        const actual = `attempt ${event.attempt} on ${event.worker_id}`;
        violations.push(
          `I4 event ${event.seq}: ${event.type} of ${job} by ${actual}, not ${attempt} on ${worker}`,
        );
      }
      if (closing.has(event.type)) live.delete(job);
      else if (reopening.has(event.type) && !live.has(job)) openAttempt(job, worker, event);
    }
    if (finals.has(event.type)) final.set(job, event.type);
  };

  for (const event of events) {
    if (event.kind === 'job' && event.job_id) checkJobEvent(event.job_id, event);
    if (event.type === 'worker.draining' && event.worker_id) draining.add(event.worker_id);
    if (event.type === 'worker.undrained' && event.worker_id) draining.delete(event.worker_id);
  }
  return violations;
}
