import { Progress as WireProgress } from '../../protocol/progress.ts';
import type { Progress } from './progress.ts';

/** Converts a trainer's progress to the form in which it is sent. Returns an empty object when a field violates the contract. */
export function wireProgress(progress: Progress): WireProgress {
  const fields = {
    step: progress.step,
    total_steps: progress.totalSteps,
    epoch: progress.epoch,
    loss: progress.loss,
    learning_rate: progress.learningRate,
    steps_per_second: progress.stepsPerSecond,
    percent: progress.percent,
    eta_s: progress.etaS,
    stage: progress.stage,
    metrics: Object.keys(progress.metrics).length > 0 ? progress.metrics : undefined,
  };
  const stated = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const parsed = WireProgress.safeParse(stated);
  return parsed.success ? parsed.data : {};
}
