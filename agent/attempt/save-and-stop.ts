import type { AskResult } from './trainer-actions.ts';
import { type AttemptDeps, giveOrder, type HeldAttempt } from './held-attempt.ts';
import { latestStop, type Preemption } from './preemption.ts';
import { pause } from '../retry/retry.ts';

const lookEveryMs = 1_000;
const askEveryMs = 5_000;
/** A trainer that starts up does not take requests yet. It is worth waiting only a short time, unless it may run on anyway. */
const askForMs = 60_000;
/** Nothing shows when a checkpoint is complete if this worker does not upload it. */
const unseenSaveMs = 30_000;

/**
 * Stops the trainer of a preempted attempt once its work is safe, and in any case before the machine is gone. It asks for a
 * checkpoint, and waits until one that was written since then is uploaded. All processes of a training on several machines save together,
 * so only the first machine can ask.
 */
export async function saveAndStop(held: HeldAttempt, deps: AttemptDeps): Promise<void> {
  const { clock } = deps;
  const isUploaded = held.run !== null && deps.outputs?.hasten(held.attemptId) === true;
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
    if (!isUploaded) return result === 'never' || now - askedAt >= unseenSaveMs;
    if (deps.outputs?.saved(held.attemptId) === 'newer') return true;
    if (preemption.mayWait || result === 'asked') return false;
    return result === 'never' || now - preemption.startedAt >= askForMs;
  };

  while (held.rank === 0 && held.run !== null && isUnderWay(held)) {
    await tryToAsk();
    if (held.preemption === null || isDone(held.preemption)) break;
    await pause(clock, lookEveryMs, held.halted.signal);
  }
  if (isUnderWay(held)) giveOrder(held, 'leave_now', deps);
}

const isUnderWay = ({ order, ended, isReleased }: HeldAttempt): boolean =>
  order === null && !ended && !isReleased;
