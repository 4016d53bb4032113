import { createDictSteps } from './dict-steps.ts';
import type { EpochBar, NestedBar } from './progress-bar.ts';
import { stepsOfEpochs, stepsWithin } from './progress-bar.ts';
import type { Progress } from './progress-figures.ts';
import type { LineContent } from './progress-line.ts';
import { parseRichFigures } from './rich-line.ts';

/** What lines say of the run, given the lines before them. */
export interface Placing {
  progress(content: Exclude<LineContent, { readonly kind: 'text' }>, line: string): readonly Progress[];
  /** A line without progress of its own; `isDrawnOver` by the next one. */
  text(line: string, isDrawnOver: boolean): readonly Progress[];
  /** The output ends. */
  end(): readonly Progress[];
}

/** What Lightning says when it has come to its last epoch. */
const maxEpochs = /`max_epochs=(\d{1,9})` reached/;

export function createPlacing(): Placing {
  const dicts = createDictSteps();
  const bars = createBars();
  /** The bar of rich in the line before: the next line may have the rest of its columns. */
  let rich: Progress | null = null;

  const ofBar = (progress: Progress): readonly Progress[] => {
    const { step, totalSteps, stage } = progress;
    if (step === undefined || totalSteps === undefined || stage !== undefined) return [progress];
    return [...dicts.bar(step, totalSteps), progress];
  };

  const noteMaxEpochs = (line: string): void => {
    const [, epochs] = line.includes('max_epochs=') ? (maxEpochs.exec(line) ?? []) : [];
    if (epochs !== undefined) bars.know(Number(epochs));
  };

  return {
    progress(content, line) {
      rich = null;
      // It may stand behind a bar that has not ended its line.
      noteMaxEpochs(line);
      switch (content.kind) {
        case 'json':
        case 'counts':
          return [bars.place(content)];
        case 'bar': {
          const progress = bars.place(content);
          if (content.isRich) rich = progress;
          return ofBar(progress);
        }
        case 'log': {
          const { bar, epoch, progress } = content;
          const dict = bars.place(content);
          // One that says its step itself, and not its bar.
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

/** What single bars come to together. */
function createBars() {
  /** The bar that counts epochs, where there is one. */
  let epochs: NestedBar | null = null;
  /** The bar without a name that is not full yet. */
  let outer: NestedBar | null = null;
  /** A bar or a JSON line has told the steps of the run: lines of text know no better. */
  let isCounted = false;
  /** Epochs are counted from 0, as Lightning does. */
  let isFromZero = false;
  let maxEpoch: number | null = null;

  const placeEpoch = (progress: Progress, bar: EpochBar): Progress => {
    isFromZero ||= bar.epoch === 0 || bar.isLightning;
    if (!isFromZero) return progress;
    const steps = stepsOfEpochs(bar, maxEpoch);
    if (bar.done > 0) return { ...progress, ...steps };
    // Lightning empties the bar before it names the next epoch: the figures beside it are those of the step before.
    const { stage, percent, epoch } = progress;
    return { stage, percent, epoch, metrics: {} };
  };

  return {
    know(max: number): void {
      maxEpoch = max;
    },
    place(content: Exclude<LineContent, { readonly kind: 'text' }>): Progress {
      const { progress } = content;
      if (content.kind === 'counts') return isCounted ? withoutCounts(progress) : progress;
      isCounted ||= progress.totalSteps !== undefined;
      if (content.kind !== 'bar') return progress;
      const { nested, ofEpoch } = content;
      if (ofEpoch !== undefined) return placeEpoch(progress, ofEpoch);
      if (nested === undefined) return progress;
      switch (nested.what) {
        case 'epochs':
          epochs = nested;
          return progress;
        case 'steps':
          return epochs === null ? progress : { ...progress, ...stepsWithin(epochs, nested) };
        case 'unnamed':
          // A shorter one begins while the other is under way: an evaluation.
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
