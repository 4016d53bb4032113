import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { Held, Rendezvous } from '../job.ts';
import type { Report } from './reports.ts';

/** The address at which other machines reach this machine's trainer. */
export type Reachable = NonNullable<StatusReportBody['ready']>;

export interface RendezvousDeps {
  /** Retries until there is a final answer. */
  readonly report: Report;
  /** Finds the address of this machine and a free port. */
  readonly reachable: () => Promise<Reachable>;
}

/** An attempt on several workers whose trainer can be started here. */
interface ReadyAttempt extends Held {
  readonly rendezvous: PromiseWithResolvers<Rendezvous>;
  readonly halted: AbortController;
}

/**
 * Reports that this machine is ready, and waits until all machines are ready. The orchestrator limits the wait: it halts
 * the attempt when a machine is not ready in time. `refused`: the orchestrator has rejected the report permanently.
 */
export async function awaitOthers(
  { jobId, attemptId, rendezvous, halted }: ReadyAttempt,
  { report, reachable }: RendezvousDeps,
): Promise<Rendezvous | 'refused' | 'halted'> {
  const { signal } = halted;
  const ready = await reachable();
  const answer = await report(jobId, attemptId, { status: 'starting', ready }, signal);
  if (answer === 'refused') return 'refused';
  const stop = Promise.withResolvers<'halted'>();
  const onAbort = (): void => stop.resolve('halted');
  signal.addEventListener('abort', onAbort, { once: true });
  const first = await (signal.aborted ? 'halted' : Promise.race([rendezvous.promise, stop.promise]));
  signal.removeEventListener('abort', onAbort);
  return signal.aborted ? 'halted' : first;
}
