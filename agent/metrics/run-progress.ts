import { createDictSteps } from './dict-steps.ts';
import { type EpochBar, type NestedBar, stepsOfEpochs, stepsWithin } from './progress-bar.ts';
import type { Progress } from './progress-figures.ts';
import { type LineContent, parseRichFigures } from './progress-line.ts';

/** Determines the progress of the whole run from the lines of an output. */
export interface RunProgress {
  /** Reads a line with progress. */
  progress(content: Exclude<LineContent, { readonly kind: 'text' }>, line: string): readonly Progress[];
  /** Reads a line without progress. `isDrawnOver`: the next line overwrites it. */
  text(line: string, isDrawnOver: boolean): readonly Progress[];
  /** Call when the output ends. Returns the progress of printed dicts whose step was not known before. */
  end(): readonly Progress[];
}

/** Lightning prints this after its last epoch. */
const maxEpochs = /`max_epochs=(\d{1,9})` reached/;

export function createRunProgress(): RunProgress {
  const dicts = createDictSteps();
  const bars = createBars();
  /** The rich bar on the previous line. The next line may contain the rest of its columns. */
  let rich: Progress | null = null;

  const ofBar = (progress: Progress): readonly Progress[] => {
    const { step, totalSteps, stage } = progress;
    if (step === undefined || totalSteps === undefined || stage !== undefined) return [progress];
    return [...dicts.bar(step, totalSteps), progress];
  };

  const noteMaxEpochs = (line: string): void => {
    const [, epochs] = line.includes('max_epochs=') ? (maxEpochs.exec(line) ?? []) : [];
    if (epochs !== undefined) bars.setMaxEpoch(Number(epochs));
  };

  return {
    progress(content, line) {
      rich = null;
      // The message can follow a bar on the same line.
      noteMaxEpochs(line);
      switch (content.kind) {
        case 'json':
        case 'counts':
          return [bars.toRunProgress(content)];
        case 'bar': {
          const progress = bars.toRunProgress(content);
          if (content.isRich) rich = progress;
          return ofBar(progress);
        }
        case 'log': {
          const { bar, epoch, progress } = content;
          const dict = bars.toRunProgress(content);
          // The dict contains its step, so it needs no bar.
          if (progress.step !== undefined && bar?.step === undefined) return [dict];
          return [...(bar === undefined ? [] : ofBar(bar)), ...dicts.dict(dict, epoch)];
        }
      }
    },
    text(line, isDrawnOver) {
      if (isDrawnOver && line.trim() === '') dicts.clear();
      noteMaxEpochs(line);
      const figures = rich === null ? undefined : parseRichFigures(line);
      if (rich === null || figures === undefined) return [];
      return [{ ...figures, step: rich.step, epoch: rich.epoch }];
    },
    end: dicts.end,
  };
}

/** Combines related bars into progress of the run. */
function createBars() {
  /** The bar that counts epochs, if there is one. */
  let epochs: NestedBar | null = null;
  /** The last bar without a name, apart from the bars of evaluations. */
  let outer: NestedBar | null = null;
  /** Whether a bar or a JSON line has shown the run's steps, which are more reliable than counts in lines of text. */
  let isCounted = false;
  /** Whether epochs count from 0, as in Lightning. */
  let isFromZero = false;
  let maxEpoch: number | null = null;

  const toEpochProgress = (progress: Progress, bar: EpochBar): Progress => {
    isFromZero ||= bar.epoch === 0 || bar.isLightning;
    if (!isFromZero) return progress;
    const steps = stepsOfEpochs(bar, maxEpoch);
    if (bar.done > 0) return { ...progress, ...steps };
    // Lightning resets the bar before it shows the next epoch. The bar then still has the figures of the previous step.
    const { stage, percent, epoch } = progress;
    return { stage, percent, epoch, metrics: {} };
  };

  return {
    setMaxEpoch(max: number): void {
      maxEpoch = max;
    },
    toRunProgress(content: Exclude<LineContent, { readonly kind: 'text' }>): Progress {
      const { progress } = content;
      if (content.kind === 'counts') return isCounted ? withoutCounts(progress) : progress;
      isCounted ||= progress.totalSteps !== undefined;
      if (content.kind !== 'bar') return progress;
      const { nested, ofEpoch } = content;
      if (ofEpoch !== undefined) return toEpochProgress(progress, ofEpoch);
      if (nested === undefined) return progress;
      switch (nested.what) {
        case 'epochs':
          epochs = nested;
          return progress;
        case 'steps':
          return epochs === null ? progress : { ...progress, ...stepsWithin(epochs, nested) };
        case 'unnamed':
          // A shorter bar that starts before the outer one is full is an evaluation.
          if (outer !== null && outer.done < outer.total && nested.total < outer.total)
            return { stage: 'Evaluating', percent: progress.percent, metrics: {} };
          outer = nested;
          return progress;
      }
    },
  };
}

const withoutCounts = ({ epoch, loss, learningRate, metrics }: Progress): Progress => ({
  epoch,
  loss,
  learningRate,
  metrics,
});
