/**
 * Parses the progress bars of tqdm (format_meter in tqdm/std.py), which nearly every trainer in Python prints:
 *
 *     {description}: {percent}%|{bar}| {n}/{total} [{elapsed}<{remaining}, {rate}, {name}={value}, ...]
 *     {description}: {n}{unit} [{elapsed}, {rate}, {name}={value}, ...]              total unknown
 */

import { countOf, percentOf, readFields, stageOf, stepsOf, type Progress } from './progress-figures.ts';

/** A longer line is not parsed, which bounds the work. */
const MAX_BAR_LENGTH = 2048;

interface Bar {
  readonly description: string;
  readonly done: number;
  readonly total?: number;
  /** Unit that the bar counts, e.g. `it`, `batch`, `B`, `examples`; '' when the bar shows none. */
  readonly unit: string;
  readonly perSecond?: number;
  readonly leftS?: number;
  readonly postfix: readonly string[];
}

/**
 * A bar that may be one of two nested bars. OneTrainer draws `epoch` and `step`. Hugging Face's Trainer draws two bars
 * without names while it evaluates.
 */
export interface NestedBar {
  readonly what: 'epochs' | 'steps' | 'unnamed';
  readonly done: number;
  readonly total: number;
}

/** A bar that starts again with each epoch, and does not show the total number of epochs. */
export interface EpochBar {
  readonly epoch: number;
  readonly done: number;
  readonly total: number;
  /** Whether Lightning draws the bar, with epochs from 0. Only its bars show a version of the run (`v_num`). */
  readonly isLightning: boolean;
}

export interface ParsedBar {
  readonly progress: Progress;
  readonly nested?: NestedBar | undefined;
  readonly ofEpoch?: EpochBar | undefined;
}

/** Units that are not training steps. */
const OTHER_UNITS = new Set(['B', 'iB', 'bytes', 'example', 'examples', 'file', 'files']);
/** Words in a bar's description that show that the bar does not count training steps. */
const OTHER_WORK =
  /^(?:(?:build|cach|casting|checking|collect|comput|convert|creat|denois|download|encod|eval|extract|fetch|filter|flatten|generat|grouping|indexing|infer|load|mapping|merg|packing|predict|prepar|preproc|process|push|quantiz|reading|resiz|resolv|sampl|sanity|sav|scan|shard|shuffl|sorting|test|tokeni|upload|valid|verif|writ)[a-z]*|map|val)$/;
/** `Epoch 3`, `Epoch 3/10`, `epoch [3/10]`. */
const EPOCH = /\bepochs?\s?\[?(\d{1,9})(?:\s?\/\s?(\d{1,9}))?/i;
/** tqdm's durations: `01:23`, `6:56:13`. */
const ELAPSED = /^\d{1,9}:\d\d(?::\d\d)?$/;
/** A number, a scale factor (`k` is 1000) if the bar has one, and the unit. */
const QUANTITY = /^(\d{1,15}(?:\.\d{1,9})?|\?)([kMGT]?) ?([A-Za-z]{0,20})$/;
/** Every repetition has a limit, so that no input causes a long search. */
const NAMED = /([A-Za-z_][\w./-]{0,63}): ([^\s,]{1,40})/g;
const SCALES: ReadonlyMap<string | undefined, number> = new Map([
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
]);

interface Quantity {
  /** Undefined when the bar shows a `?`. */
  readonly figure?: number;
  readonly unit: string;
}

/** Parses `450`, `1.20k`, `450it`, `1000 examples` or `?it`. */
function quantityOf(text: string): Quantity | undefined {
  const match = QUANTITY.exec(text.trim());
  if (match === null) return undefined;
  const [, figure, scale, unit = ''] = match;
  if (figure === '?') return { unit };
  // Round, because 1.13 * 1000 is not a whole number in floating point.
  return { figure: Math.round(Number(figure) * (SCALES.get(scale) ?? 1) * 1e6) / 1e6, unit };
}

/** Parses `5.42it/s`, or `7.82s/it` for rates below one a second. */
function rateOf(text: string): Pick<Bar, 'unit' | 'perSecond'> {
  const slash = text.lastIndexOf('/');
  const above = quantityOf(text.slice(0, slash));
  const below = text.slice(slash + 1).trim();
  if (slash < 0 || above === undefined) return { unit: '' };
  if (below === 's') return { unit: above.unit, perSecond: above.figure };
  const perSecond = above.unit === 's' && above.figure ? 1 / above.figure : undefined;
  return { unit: below, perSecond };
}

/** Parses `01:41` or `6:56:13`. The bar shows a `?` until it has an estimate. */
function secondsOf(text: string): number | undefined {
  if (!ELAPSED.test(text)) return undefined;
  return text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Parses the text after the opening bracket; undefined when the brackets do not belong to a bar. */
function timingOf(text: string): Pick<Bar, 'unit' | 'perSecond' | 'leftS' | 'postfix'> | undefined {
  const close = text.indexOf(']');
  if (close < 0) return undefined;
  const [times = '', rate = '', ...postfix] = text.slice(0, close).split(',');
  const [elapsed = '', left = ''] = times.split('<');
  return ELAPSED.test(elapsed) ? { ...rateOf(rate), leftS: secondsOf(left), postfix } : undefined;
}

/** Parses a bar with a total, whose drawn part is followed by `450/1000 [...`. */
function closedBarOf(text: string, percentAt: number): Bar | undefined {
  const barEnd = text.indexOf('|', percentAt + 2);
  const open = text.indexOf('[', barEnd);
  if (barEnd < 0 || open < 0) return undefined;
  const [done, total, more] = text
    .slice(barEnd + 1, open)
    .split('/')
    .map(part => quantityOf(part)?.figure);
  const timing = timingOf(text.slice(open + 1));
  if (done === undefined || !total || more !== undefined || timing === undefined) return undefined;
  const description = text.slice(0, percentAt).replace(/\d{1,3}$/, '');
  return { description, done, total, ...timing };
}

/** Parses a bar without a total: `Steps: 450it [...`. */
function openBarOf(text: string): Bar | undefined {
  const open = text.lastIndexOf('[');
  // Most lines are not bars.
  if (open < 0) return undefined;
  const timing = timingOf(text.slice(open + 1));
  if (timing === undefined) return undefined;
  const colon = text.lastIndexOf(': ', open);
  const done = quantityOf(text.slice(colon < 0 ? 0 : colon + 1, open));
  if (done?.figure === undefined || done.unit === '') return undefined;
  return { ...timing, description: text.slice(0, Math.max(colon, 0)), done: done.figure, unit: done.unit };
}

function isOtherWork(bar: Bar): boolean {
  const words = bar.description.toLowerCase().split(/[^a-z_]+/);
  return OTHER_UNITS.has(bar.unit) || words.some(word => OTHER_WORK.test(word));
}

/**
 * Finds the steps of the whole run. A bar whose name contains an epoch starts again with each epoch. From `Epoch 3/10`,
 * the steps of the run can be computed. `Epoch 3` is not enough, so the epoch counts as a stage of the run.
 */
function stepsOfRun(bar: Bar): Pick<Progress, 'step' | 'totalSteps' | 'percent' | 'epoch' | 'stage'> {
  const match = EPOCH.exec(bar.description);
  const epoch = match === null ? undefined : Number(match[1]);
  const epochs = Number(match?.[2]);
  const percent = percentOf(bar.done, bar.total);
  if (epoch === undefined || /step|iter/i.test(bar.description)) {
    return { step: stepsOf(bar.done), totalSteps: stepsOf(bar.total), percent, epoch };
  }
  if (bar.total === undefined || !(epoch >= 1 && epoch <= epochs)) {
    return { percent, epoch, stage: `Epoch ${epoch}` };
  }
  const step = (epoch - 1) * bar.total + bar.done;
  const totalSteps = epochs * bar.total;
  return {
    step: stepsOf(step),
    totalSteps: stepsOf(totalSteps),
    percent: percentOf(step, totalSteps),
    epoch,
  };
}

/**
 * Parses the figures after a bar: `loss=0.1` per piece (tqdm), or `lr: 1.0e-04 loss: 3.456e-01` in one piece
 * (ai-toolkit).
 */
function fieldsOf(postfix: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    postfix.flatMap(piece => {
      const at = piece.indexOf('=');
      if (at >= 0) return [[piece.slice(0, at).trim(), piece.slice(at + 1)] as const];
      return [...piece.matchAll(NAMED)].map(([, name = '', value = '']) => [name, value] as const);
    }),
  );
}

function nestedBarOf({ description, done, total }: Bar): NestedBar | undefined {
  if (total === undefined || total < done) return undefined;
  const name = description
    .replace(/[:\s]+$/, '')
    .trim()
    .toLowerCase();
  if (name === '') return { what: 'unnamed', done, total };
  if (name === 'step') return { what: 'steps', done, total };
  return /^epochs?$/.test(name) ? { what: 'epochs', done, total } : undefined;
}

/**
 * Parses the progress that a line's bar shows; undefined when the line has no bar. `nested` is set when the bar may be one
 * of two nested bars. The steps of the run then depend on both bars.
 */
export function parseBar(text: string): ParsedBar | undefined {
  if (text.length > MAX_BAR_LENGTH) return undefined;
  const percentAt = text.indexOf('%|');
  const bar = percentAt < 0 ? openBarOf(text) : closedBarOf(text, percentAt);
  if (bar === undefined) return undefined;
  const percent = percentOf(bar.done, bar.total);
  const etaS = countOf(bar.leftS);
  // Other work reports only its percentage, because the loss of a validation is not the loss of the training.
  if (isOtherWork(bar))
    return { progress: { stage: stageOf(bar.description) ?? 'Transferring', percent, metrics: {} } };
  const fields = readFields(fieldsOf(bar.postfix));
  const nested = nestedBarOf(bar);
  if (/^epochs?$/.test(bar.unit) || nested?.what === 'epochs')
    return { progress: { ...fields, epoch: countOf(bar.done), percent }, nested };
  const steps = stepsOfRun(bar);
  const epoch = steps.epoch ?? fields.epoch;
  const stepsPerSecond = countOf(bar.perSecond);
  // The time left in an epoch is not the time left in the run.
  const left = steps.stage === undefined && steps.percent === percent ? { etaS } : {};
  return {
    progress: { ...fields, ...steps, epoch, stepsPerSecond, ...left },
    nested,
    ofEpoch: epochBarOf(bar, fields),
  };
}

/** Recognizes a bar that is named just `Epoch 3`, as Lightning does. */
function epochBarOf({ description, done, total }: Bar, { metrics }: Progress): EpochBar | undefined {
  const [, epoch] = /^\s*Epoch (\d{1,9}):?\s*$/.exec(description) ?? [];
  if (epoch === undefined || total === undefined || done > total) return undefined;
  return { epoch: Number(epoch), done, total, isLightning: Object.hasOwn(metrics, 'v_num') };
}

/** Computes the run's steps from a bar for one epoch. Epochs count from 0; `maxEpochs` is null while unknown. */
export function stepsOfEpochs(
  { epoch, done, total }: EpochBar,
  maxEpochs: number | null,
): Pick<Progress, 'step' | 'totalSteps' | 'percent' | 'stage'> {
  const step = epoch * total + done;
  const totalSteps = maxEpochs === null ? undefined : stepsOf(maxEpochs * total);
  if (totalSteps === undefined || totalSteps < step || totalSteps === 0) return { step: stepsOf(step) };
  return { step: stepsOf(step), totalSteps, percent: percentOf(step, totalSteps), stage: undefined };
}

/** Computes the run's steps from a bar for one epoch and the bar above it, which counts epochs. */
export function stepsWithin(
  epochs: NestedBar,
  steps: NestedBar,
): Pick<Progress, 'step' | 'totalSteps' | 'percent' | 'epoch' | 'etaS'> {
  const step = epochs.done * steps.total + steps.done;
  const totalSteps = epochs.total * steps.total;
  return {
    step: stepsOf(step),
    totalSteps: stepsOf(totalSteps),
    percent: percentOf(step, totalSteps),
    epoch: epochs.done,
    etaS: undefined,
  };
}
