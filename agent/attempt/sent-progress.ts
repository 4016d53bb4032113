import { cleanLine } from '../../protocol/text.ts';
import type { OutputItem, Progress } from '../metrics/progress.ts';
import { stripAnsi } from '../metrics/progress-line.ts';
import { findSecrets, latin1, showFrom } from '../logs/redact.ts';
import { Progress as WireProgress } from '../../protocol/reports.ts';

/** Text from a trainer's output: the stage of the run, and the newest line of its log. */
export interface StageAndLine {
  readonly stage: string | null;
  /** As printed, at most 64 KiB. `shownLine` prepares it for sending. */
  readonly line: string | null;
}

/** SimpleTuner's names of stages, each with a pattern for its lines. The first match counts. */
const stages: readonly (readonly [string, RegExp])[] = [
  ['Preprocessing', /\bpre-?process|\bloading\b/i],
  ['Warmup', /\bwarm(?:ing)?[ -]?up\b/i],
  ['Validation', /\bvalidat/i],
  ['Saving checkpoint', /\bcheckpoint(?:-\d+)?\b/i],
];

/** Only the first characters of a line are searched for a stage; the rest is detail. */
const stageChars = 400;

/** Finds the current stage from the items of an output. Progress with a step means that the run is training. */
export function createStageReader() {
  let current: StageAndLine = { stage: null, line: null };
  return {
    note(item: OutputItem): void {
      if (item.kind === 'progress') {
        const { stage, step } = item.progress;
        if (stage !== undefined || step !== undefined) current = { ...current, stage: stage ?? 'Training' };
      } else if (!item.redraw && item.text.trim() !== '') {
        const head = item.text.slice(0, stageChars);
        const [stage = current.stage] = stages.find(([, pattern]) => pattern.test(head)) ?? [];
        current = { stage, line: item.text };
      }
    },
    current: (): StageAndLine => current,
  };
}

/** The length to which SimpleTuner's own progress call cuts the line. */
const lineChars = 80;
/** Only the first characters of a long line are processed. */
const searchedChars = 4_096;
/** A row of a private key, or other encoded data. No word is this long. */
const blob = /[A-Za-z0-9+/=_-]{48,}/g;

/** Returns the line as plain text without secrets, short enough to show beside a progress bar. */
export function shownLine(line: string, knownSecrets: readonly string[]): string {
  const plain = stripAnsi(line.slice(0, searchedChars));
  const shown = showFrom(latin1(plain), 0, knownSecrets.map(latin1)).replaceAll(blob, '[redacted]');
  return cleanLine(shown).trim().slice(0, lineChars).toWellFormed();
}

export const containsSecret = (text: string, knownSecrets: readonly string[]): boolean =>
  findSecrets(latin1(text), knownSecrets.map(latin1)).length > 0;

/**
 * Converts a trainer's progress to the form in which it is sent. Returns an empty object when a field violates the
 * contract.
 */
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
