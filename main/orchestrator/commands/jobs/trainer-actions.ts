import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type RequestKind, requestsKey } from '../../../../protocol/requests.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import { type Actor, type AssignedJob, isLive, type Job, type MonoMs } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { createJobViewer } from '../../views/job-views.ts';
import { takesTrainerActions } from '../../v1-agent.ts';

export interface ActionResult {
  readonly job: JobView;
  /** Whether the same request was sent within the last 5 seconds. If so, it was not sent again. */
  readonly duplicate: boolean;
}

/** Identical requests within this time count as one request. */
const sameForMs = 5_000;

const unknown = (id: JobId) => refuse('job_not_found', `There is no job ${id}`);
const notConnected = (id: JobId, worker: string) =>
  refuse(
    'worker_not_connected',
    `Worker ${worker}, which runs job ${id}, is not connected at the moment: try again when it is back`,
  );

/**
 * Requests of users to a running trainer, for example to save a checkpoint. A request does not change the job: the
 * orchestrator only records and forwards it.
 */
export function createTrainerActions(core: Core) {
  const recent = createRecent(() => core.clock.mono());

  /** Sends the request after the commit. After that, `isSent` returns whether the worker had an open stream. */
  const send = (
    tx: Tx,
    job: AssignedJob,
    what: RequestKind,
    by: Actor,
  ): { readonly isSent: () => boolean } => {
    const { id, workerId } = job.attempt;
    let sent = false;
    recordJobEvent(core, tx, 'job.asked', job, by, { what });
    tx.afterCommit(() => {
      sent = core.connections.send(workerId, { type: 'job_ask', job_id: job.id, attempt_id: id, what });
      if (sent) recent.note(`${id} ${what}`);
    });
    return { isSent: () => sent };
  };

  return {
    async requestAction(id: JobId, what: RequestKind, by: Actor): Promise<Outcome<ActionResult>> {
      const outcome = await core.store.write(tx => {
        const job = tx.job(id);
        if (job === null) return unknown(id);
        const runningJob = jobForAction(core, tx, job, what);
        if (!runningJob.ok) return runningJob;
        const duplicate = recent.has(`${runningJob.value.attempt.id} ${what}`);
        return accept({ duplicate, sending: duplicate ? null : send(tx, runningJob.value, what, by) });
      });
      if (!outcome.ok) return outcome;
      const { duplicate, sending } = outcome.value;
      const job = core.store.job(id);
      if (job === null) return unknown(id);
      const view = createJobViewer(core, core.store)(job);
      if (sending?.isSent() === false) return notConnected(id, view.worker_name ?? 'unknown');
      return accept({ job: view, duplicate });
    },
  };
}

/** Returns the job if its trainer can take this request now. */
function jobForAction(core: Core, tx: Tx, job: Job, what: RequestKind): Outcome<AssignedJob> {
  const { id, spec } = job;
  const worker = isLive(job) ? tx.worker(job.attempt.workerId) : null;
  // The trainer of a silent worker may still run, but a request would not reach it.
  if (job.status === 'recovering' && worker !== null) return notConnected(id, worker.name);
  if (job.status !== 'running' || worker === null)
    return refuse(
      'job_not_running',
      `Job ${id} is ${job.status}: its trainer can take requests only while it is running`,
    );
  if (!spec.requests.includes(what))
    return refuse(
      'request_unknown',
      `The config of job ${id} does not define the request "${what}": add ` +
        `"${requestsKey}": {"${what}": {"signal": "SIGUSR1"}} to it, or {"file": "${what}.now"}, whichever its trainer ` +
        'supports, and submit it again',
    );
  if (!takesTrainerActions(worker))
    return refuse(
      'worker_unable',
      `Worker ${worker.name} runs SimpleTuner's own agent, which cannot pass requests to its trainer: run Trainyard's worker there`,
    );
  return core.connections.of(worker.id)?.streaming === true ? accept(job) : notConnected(id, worker.name);
}

/** Remembers recent requests, in memory only: a restart takes longer than `sameForMs`. */
function createRecent(now: () => MonoMs) {
  const sentAt = new Map<string, MonoMs>();
  return {
    has: (key: string): boolean => (sentAt.get(key) ?? Number.NEGATIVE_INFINITY) + sameForMs > now(),
    note(key: string): void {
      for (const [storedKey, at] of sentAt) if (at + sameForMs <= now()) sentAt.delete(storedKey);
      sentAt.set(key, now());
    },
  };
}
