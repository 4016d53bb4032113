import type { AskResult } from './trainer-actions.ts';
import { type AttemptDeps, giveOrder, type HeldAttempt } from './held-attempt.ts';
import { latestStop, type Preemption } from './preemption.ts';
import { pause } from '../retry/retry.ts';

const checkEveryMs = 1_000;
const askEveryMs = 5_000;
/**
 * Maximum wait in ms for a starting trainer, which accepts no requests yet. Does not apply if the trainer may run until
 * the deadline (`mayWait`).
 */
const maxStartWaitMs = 60_000;
/**
 * Time in ms for saving when this worker uploads no checkpoints, because it then cannot see when a checkpoint is
 * complete.
 */
const blindSaveMs = 30_000;

/**
 * Stops the trainer of a preempted attempt. First asks the trainer for a checkpoint. Then waits until a new checkpoint is
 * uploaded, but not longer than the notice allows. If the attempt runs on several machines, only the first one asks
 * and waits, because all processes of a training save together.
 */
export async function saveAndStop(held: HeldAttempt, deps: AttemptDeps): Promise<void> {
  const { clock } = deps;
  const uploadsCheckpoints = held.run !== null && deps.outputs?.hasten(held.attemptId) === true;
  let result: AskResult = deps.ask === undefined ? 'never' : 'later';
  let triedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.POSITIVE_INFINITY;

  const tryToAsk = async (): Promise<void> => {
    if (result !== 'later' || clock.mono() - triedAt < askEveryMs) return;
    triedAt = clock.mono();
    result = (await deps.ask?.(held, 'save')) ?? 'never';
    if (result !== 'asked') return;
    askedAt = clock.mono();
    held.isAskedToSave = true;
  };
  const isDone = (preemption: Preemption): boolean => {
    const now = clock.mono();
    if (now >= latestStop(preemption, deps.limits().graceMs)) return true;
    if (!uploadsCheckpoints) return result === 'never' || now - askedAt >= blindSaveMs;
    if (deps.outputs?.saved(held.attemptId) === 'newer') return true;
    if (preemption.mayWait || result === 'asked') return false;
    return result === 'never' || now - preemption.startedAt >= maxStartWaitMs;
  };

  while (held.rank === 0 && held.run !== null && isActive(held)) {
    await tryToAsk();
    if (held.preemption === null || isDone(held.preemption)) break;
    await pause(clock, checkEveryMs, held.halted.signal);
  }
  if (isActive(held)) giveOrder(held, 'leave_now', deps);
}

const isActive = ({ order, ended, isReleased }: HeldAttempt): boolean =>
  order === null && !ended && !isReleased;
