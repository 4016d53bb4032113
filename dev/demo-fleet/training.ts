import type { Clock, SimulatedTraining } from '../../agent/simulated/simulated-worker.ts';
import type { Progress } from '../../protocol/progress.ts';
import type { Random } from './random.ts';
import { progressAt, type TrainingPlan } from './training-plan.ts';

/** Interval of progress output. */
const printEveryMs = 2_000;
/** Time from SIGTERM to exit. */
const stopMs = 200;
const signalled = { code: null, signal: 'SIGTERM', tail: '' } as const;

/** Runs the planned training, and stops on request. */
export function train(
  plan: TrainingPlan,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  onProgress: (progress: Progress) => void,
): SimulatedTraining {
  const exited = Promise.withResolvers<Awaited<SimulatedTraining['exited']>>();
  const startedAt = clock.mono();
  const lastStep = plan.failure?.atStep ?? plan.totalSteps;
  const endsMs = (plan.durationMs * lastStep) / plan.totalSteps;
  let cancelTimer = (): void => {};
  const stepNow = (): number =>
    Math.min(lastStep, Math.floor(((clock.mono() - startedAt) / plan.durationMs) * plan.totalSteps));
  const print = (step: number): void => onProgress(progressAt(plan, step, 2 * random.next() - 1));
  const end = (): void => {
    print(lastStep);
    const { failure } = plan;
    exited.resolve({ code: failure?.code ?? 0, signal: null, tail: failure?.lines.join('\n') ?? '' });
  };
  const continueTraining = (): void => {
    const leftMs = startedAt + endsMs - clock.mono();
    if (leftMs <= 0) return end();
    print(stepNow());
    cancelTimer = clock.after(Math.min(leftMs, printEveryMs), continueTraining);
  };
  cancelTimer = clock.after(Math.min(endsMs, printEveryMs * random.next()), continueTraining);
  return {
    exited: exited.promise,
    stop() {
      cancelTimer();
      cancelTimer = clock.after(stopMs, () => exited.resolve(signalled));
    },
  };
}
