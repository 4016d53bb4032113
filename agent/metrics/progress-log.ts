/** Parses progress that a trainer logs as lines of text. */

import type { PrintedEpoch } from './dict-steps.ts';
import { percentOf, readFields, stepsOf, type Progress } from './progress-figures.ts';

/** A longer line is not parsed, which bounds the work. */
const maxLength = 4_096;
/** A dict such as `{'loss': 0.51, ...}` must contain one of these names, since any program may print a dict. */
const knownNames = ['loss', 'eval_loss', 'grad_norm', 'learning_rate'];
/** A dict with this key is the summary of the whole run. Its `train_loss` is not the loss of a step. */
const summaryKey = 'train_runtime';
/** An entry of a dict. Later versions of the Trainer also quote numbers. */
const entry = /^'([^']{1,64})': ('?)([^']{1,40})'?$/;
/** `step 1500/5000`, `Step [100/600]`. */
const stepCount = /\bsteps?[:\s]{1,3}\[?(\d{1,12}) ?\/ ?(\d{1,12})\b/i;
/** `epoch 3/10`, `Epoch [3/10]`. */
const epochCount = /\bepochs?[:\s]{1,3}\[?(\d{1,9}) ?\/ ?(\d{1,9})\b/i;
/** Figures in lines that count steps or epochs. */
const countFigure =
  /\b(loss|step_loss|train_loss|avr_loss|avg_loss|lr|learning_rate) ?[:=] ?([+-]?[\d.]{1,20}(?:e[+-]?\d{1,3})?)/gi;

/**
 * Parses the dict that Hugging Face's Trainer prints at each logging step, alone on a line or after a bar. In the result,
 * `at` is the index of the dict in the text.
 */
export function parseDict(text: string): PrintedDict | undefined {
  const at = text.lastIndexOf("{'");
  if (at < 0 || !text.endsWith('}') || text.length > maxLength) return undefined;
  const entries = text
    .slice(at + 1, -1)
    .split(', ')
    .flatMap(piece => {
      const [, name, quote, value] = entry.exec(piece) ?? [];
      return name === undefined || value === undefined ? [] : [{ name, value, isQuoted: quote !== '' }];
    });
  const fields = new Map(entries.map(({ name, value }) => [name, value] as const));
  const isSummary = fields.has(summaryKey);
  if (!isSummary && !knownNames.some(name => fields.has(name))) return undefined;
  const printed = entries.find(({ name }) => name === 'epoch');
  const epoch = printed && epochOf(printed.value, printed.isQuoted);
  return { at, progress: isSummary ? summaryOf(fields) : readFields(fields), ...(epoch && { epoch }) };
}

interface PrintedDict {
  readonly at: number;
  readonly progress: Progress;
  readonly epoch?: PrintedEpoch;
}

/** Quoted values have four significant digits. Unquoted ones, of older versions, have at least two decimals. */
function epochOf(text: string, isQuoted: boolean): PrintedEpoch | undefined {
  const value = Number(text);
  if (!(value > 0 && value < 1e9)) return undefined;
  const [, decimals = ''] = /\.(\d{1,20})$/.exec(text) ?? [];
  const digits = isQuoted ? 3 - Math.floor(Math.log10(value)) : Math.max(2, decimals.length);
  return { value, margin: 0.5 * 10 ** -digits };
}

function summaryOf(fields: ReadonlyMap<string, string>): Progress {
  const { train_loss: loss, ...rest } = Object.fromEntries(fields);
  const { metrics, ...progress } = readFields(new Map(Object.entries(rest)));
  const figure = Number(loss);
  return { ...progress, metrics: Number.isFinite(figure) ? { ...metrics, train_loss: figure } : metrics };
}

/**
 * Parses a line that counts steps or epochs. If the line counts both, its steps are those of the epoch, as in most
 * training loops. Otherwise, its steps are those of the run.
 */
export function parseCounts(text: string): Progress | undefined {
  if (text.length > maxLength || !text.includes('/')) return undefined;
  const epochs = countsIn(epochCount, text);
  const steps = countsIn(stepCount, text);
  if (epochs === undefined && steps === undefined) return undefined;
  const figures = readFields(
    new Map([...text.matchAll(countFigure)].map(([, name = '', value]) => [name.toLowerCase(), value])),
  );
  const earlierEpochs = epochs === undefined ? 0 : Math.max(0, epochs.done - 1);
  const run = steps && {
    done: earlierEpochs * steps.total + steps.done,
    total: (epochs?.total ?? 1) * steps.total,
  };
  const share = run ?? epochs;
  return {
    step: run?.done,
    totalSteps: run?.total,
    epoch: epochs?.done,
    percent: percentOf(share?.done, share?.total),
    loss: figures.loss,
    learningRate: figures.learningRate,
    metrics: {},
  };
}

interface Counts {
  readonly done: number;
  readonly total: number;
}

function countsIn(pattern: RegExp, text: string): Counts | undefined {
  const [, first, second] = pattern.exec(text) ?? [];
  const [done, total] = [stepsOf(first), stepsOf(second)];
  return done === undefined || total === undefined || total === 0 || done > total
    ? undefined
    : { done, total };
}
