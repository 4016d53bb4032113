import type { NestedBar } from './progress-bar.ts';
import { stepsWithin } from './progress-bar.ts';
import type { Progress } from './progress-figures.ts';
import type { LineContent } from './progress-line.ts';

/** What a line says of the run, given the lines before it. */
export type Placing = (content: Exclude<LineContent, { readonly kind: 'text' }>) => Progress;

export function createPlacing(): Placing {
  /** The bar that counts epochs, where there is one. */
  let epochs: NestedBar | null = null;
  /** The bar without a name that is not full yet. */
  let outer: NestedBar | null = null;
  /** A bar or a JSON line has told the steps of the run: lines of text know no better. */
  let isCounted = false;
  return content => {
    const { progress } = content;
    if (content.kind === 'counts') return isCounted ? withoutCounts(progress) : progress;
    isCounted ||= progress.totalSteps !== undefined;
    if (content.kind !== 'bar' || content.nested === undefined) return progress;
    const { nested } = content;
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
  };
}

const withoutCounts = ({ epoch, loss, learningRate, metrics }: Progress): Progress => ({
  epoch,
  loss,
  learningRate,
  metrics,
});
