/** Progress that stands in a trainer's log in lines of its own. */

import { countOf, readFields } from './progress-figures.ts';
import type { Progress } from './progress-figures.ts';

/** A longer line is none, which bounds the work. */
const maxLength = 4_096;
/** `{'loss': 0.51, ...}`: one of these has to be in it, since any program may print a dict. */
const tellers = ['loss', 'eval_loss', 'grad_norm', 'learning_rate'];
/** The figures of the whole run, printed after its end: no point of any curve. */
const summary = 'train_runtime';
/** One entry; in later versions the figures are quoted, too. */
const entry = /^'([^']{1,64})': '?([^']{1,40})'?$/;
/** kohya's `epoch 3/10`, before each. */
const epochLine = /^epoch (\d{1,9})\/(\d{1,9})$/i;

/**
 * What Hugging Face's Trainer prints at each logging step: the `repr` of a dict of figures, alone in its line or behind its bar.
 * Answers also where it begins.
 */
export function parseDict(text: string): { readonly at: number; readonly progress: Progress } | undefined {
  const at = text.lastIndexOf("{'");
  if (at < 0 || !text.endsWith('}') || text.length > maxLength) return undefined;
  const fields = new Map(
    text
      .slice(at + 1, -1)
      .split(', ')
      .flatMap(piece => {
        const [, name, value] = entry.exec(piece) ?? [];
        return name === undefined || value === undefined ? [] : [[name, value] as const];
      }),
  );
  if (fields.has(summary) || !tellers.some(name => fields.has(name))) return undefined;
  return { at, progress: readFields(fields) };
}

export function parseEpochLine(text: string): Progress | undefined {
  const epoch = countOf(epochLine.exec(text)?.[1]);
  return epoch === undefined ? undefined : { epoch, metrics: {} };
}
