import type { StatusReportBody } from '../../protocol/worker-api.ts';
import type { ExitRecord, Order } from '../guard/guard-files.ts';

/** The final report of an attempt that was stopped before its trainer was started. */
export const neverStarted = (order: Order): StatusReportBody =>
  order === 'cancel'
    ? { status: 'cancelled' }
    : {
        status: 'failed',
        cause: 'preempted',
        error: 'The worker was stopped before the training was started',
      };

/**
 * The final report of a run that has ended. It follows from what is on disk, so that the agent's next process reports
 * the same. `exit` is null when the guard ended without an exit record. `order` is the stop order that was given,
 * whether or not it was carried out.
 */
export function endReport(exit: ExitRecord | null, order: Order | null): StatusReportBody {
  if (exit === null) return guardGone(order);
  if (exit.startError !== null) return { status: 'failed', cause: 'start_failed', error: exit.startError };
  const end = { exit_code: exit.code, signal: exit.signal };
  if (exit.code === 0) return { status: 'completed', ...end };
  if (order === 'cancel') return { status: 'cancelled', ...end };
  const error = describeExit(exit);
  if (order === 'leave_now')
    return { status: 'failed', cause: 'preempted', error: `The worker was stopped. ${error}`, ...end };
  if (exit.stopped === 'lost_contact') {
    const why = 'Stopped because contact to the orchestrator was lost, as the job asks for';
    return { status: 'failed', cause: 'worker_lost', error: `${why}. ${error}`, ...end };
  }
  if (/No module named '?simpletuner/.test(exit.tail)) {
    const remedy =
      'No trainer found: SimpleTuner is not installed in the Python on PATH. Install it, or use --trainer';
    return { status: 'failed', cause: 'start_failed', error: `${remedy}\n${error}`, ...end };
  }
  return { status: 'failed', error, ...end };
}

function guardGone(order: Order | null): StatusReportBody {
  if (order === 'cancel') return { status: 'cancelled' };
  const error =
    'The guard of the training ended without a word (killed, perhaps for want of memory): what was left of the training was stopped';
  return { status: 'failed', cause: 'worker_lost', error };
}

function describeExit({ code, signal, tail }: ExitRecord): string {
  const exited = code === null ? 'Training was not started' : `Training exited with code ${code}`;
  const how = signal === null ? exited : `Training was ended by ${signal}`;
  return tail === '' ? how : `${how}\n${tail}`;
}
