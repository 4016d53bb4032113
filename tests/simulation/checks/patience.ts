import { timesFrom } from '../../../main/orchestrator/rules/times.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { Check, Scene } from '../world/scene.ts';
import type { WireRequest } from '../world/wire.ts';

/** The last contact with a worker, or the start of the orchestrator. */
interface Contact {
  /** Time on the orchestrator's steady clock, in ms. */
  readonly at: number;
  /** Number of pauses of the orchestrator before the contact. */
  readonly pauses: number;
}

/** Tolerance for rounding errors in ms. */
const roundingMs = 100;

/**
 * Checks that the orchestrator gives up no worker too early. A worker goes offline after T without contact, and loses its job
 * after the takeover time. The start of the orchestrator counts as contact with each worker. Long pauses of the orchestrator do
 * not count as time without contact.
 */
export const watchPatience: Check = scene => {
  const { plan, host } = scene;
  const lastContacts = new Map<WorkerId, Contact>();
  const arrived = new Map<WireRequest, Contact>();
  const times = timesFrom(plan.heartbeatTimeoutMs, plan.v1SilenceMs);
  let started: Contact = { at: 0, pauses: 0 };

  /** Returns why less than `spanMs` has passed since the last contact; null when enough time has passed. */
  const findTooEarly = (worker: WorkerId, spanMs: number): string | null => {
    const last = lastContacts.get(worker) ?? started;
    const since = last.at > started.at ? last : started;
    const passedMs = host.steadyMs() - since.at;
    // The orchestrator may also count one clock tick before each pause.
    const leewayMs = roundingMs + (host.pauses - since.pauses) * (times.tickMs + roundingMs);
    return passedMs + leewayMs >= spanMs
      ? null
      : `${Math.round(passedMs)} ms after the last contact, not ${spanMs}`;
  };
  return {
    onLife() {
      started = { at: host.steadyMs(), pauses: host.pauses };
    },
    onArrive(request) {
      arrived.set(request, { at: host.steadyMs(), pauses: host.pauses });
    },
    onAnswer(request, answer) {
      const arrival = arrived.get(request);
      arrived.delete(request);
      const worker = request.kind === 'worker' ? scene.workerOf(request.token) : null;
      if (arrival === undefined || request.kind !== 'worker' || worker === null) return;
      // Rejected calls and goodbyes are no contact. The queue request, which precedes a goodbye, is no contact either.
      const isContact =
        answer.kind === 'answer' && answer.status !== 401 && !/\/(disconnect|queue)$/.test(pathOf(request));
      if (isContact && arrival.at >= (lastContacts.get(worker)?.at ?? 0)) lastContacts.set(worker, arrival);
    },
    onCommit({ cause, audits }) {
      if (cause !== null) return;
      for (const { type, target, details } of audits) {
        if (type === 'worker.offline' && target.type === 'worker' && details['why'] === 'silent') {
          const problem = findTooEarly(target.id, patienceFor(scene, target.id).offlineMs);
          if (problem !== null) scene.violate('no worker is offline before T', `${target.id}: ${problem}`);
        }
        if (target.type === 'job' && details['on'] === 'lost') {
          const worker = scene.ledger.job(target.id)?.attempt?.workerId;
          const problem =
            worker === undefined ? null : findTooEarly(worker, patienceFor(scene, worker).takeoverMs);
          if (problem !== null) scene.violate('no early takeover', `${target.id}: ${problem}`);
        }
      }
    },
  };
};

const pathOf = ({ path }: { readonly path: string }): string => path.split('?', 1)[0] ?? '';

/** Returns the times of silence in ms after which the worker is offline, and after which its job is taken over. */
function patienceFor({ plan, rigOf }: Scene, worker: WorkerId) {
  const { heartbeatTimeoutMs: t, v1SilenceMs } = plan;
  const offlineMs = rigOf(worker)?.rig.plan.protocol === 1 ? Math.max(t, v1SilenceMs) : t;
  return { offlineMs, takeoverMs: offlineMs + t / 3 };
}
