/** The progress that a trainer reports, and functions that read it from names and values. */

export interface Progress {
  /** Steps done and total steps of the whole run; whole numbers. */
  readonly step?: number;
  readonly totalSteps?: number;
  /** The epoch as the trainer counts it: from 0 or 1, possibly with a fraction. */
  readonly epoch?: number;
  readonly loss?: number;
  readonly learningRate?: number;
  readonly stepsPerSecond?: number;
  /** Remaining seconds, as the trainer estimates them. */
  readonly etaS?: number;
  /** 0 to 100, with two decimals: of the stage when `stage` is set, else of the run. */
  readonly percent?: number;
  /** Current activity, e.g. `Loading checkpoint shards`; at most 64 characters. */
  readonly stage?: string;
  /** All other figures: at most 32, with names of at most 64 characters. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Names of figures whose value was NaN or Infinity; undefined when there are none. */
  readonly gaps?: readonly string[];
}

export type Fields = ReadonlyMap<string, unknown>;

const MAX_METRICS = 32;
const MAX_NAME_LENGTH = 64;
/** The protocol's maximum for steps, epochs and speed. */
const MAX_COUNT = 1e12;

/** Names of the loss in different trainers. The first name with a number is the loss; the others stay metrics. */
export const lossNames: readonly string[] = ['loss', 'step_loss', 'train_loss', 'avr_loss', 'avg_loss'];
const NAMES = {
  step: ['step', 'global_step', 'globalStep'],
  totalSteps: ['total_steps', 'totalSteps', 'max_steps', 'maxSteps'],
  epoch: ['epoch'],
  learningRate: ['learning_rate', 'learningRate', 'lr'],
  stepsPerSecond: ['steps_per_second', 'stepsPerSecond'],
  percent: ['percent'],
} as const;
const ETA_NAMES = ['eta', 'eta_s', 'eta_seconds'];
/** Names that are never metrics. They include `__proto__`, because assigning it would set an object's prototype. */
const RESERVED = new Set<string>([
  'type',
  'stage',
  '__proto__',
  ...ETA_NAMES,
  ...Object.values(NAMES).flat(),
]);

/** Returns a finite number, also from text; undefined for anything else (NaN, Infinity, `0x10`, `1.5GB`). */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const text = value.trim();
    // The length bounds the work, and each part of the pattern can match in only one way.
    const isNumber = text.length <= 40 && /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text);
    return isNumber ? numberOf(Number(text)) : undefined;
  }
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Whether a value is NaN or Infinity. In JSON these are null, which counts only for a loss or a norm. */
function isGap(name: string, value: unknown): boolean {
  if (value === null) return /loss|norm/i.test(name.slice(0, MAX_NAME_LENGTH));
  if (typeof value !== 'string') return typeof value === 'number' && !Number.isFinite(value);
  return /^[+-]?(?:nan|inf|infinity)$/i.test(value.trim().slice(0, 20));
}

function gapsOf(fields: Fields, lossName: string | undefined): readonly string[] | undefined {
  const names = [...fields].flatMap(([name, value]) => (isGap(name, value) ? [name] : []));
  const isFigure = (name: string): boolean =>
    name !== '' && name.length <= MAX_NAME_LENGTH && !RESERVED.has(name);
  const gaps = [
    ...(lossName === undefined && names.some(name => lossNames.includes(name)) ? ['loss'] : []),
    ...names.filter(name => isFigure(name) && !lossNames.includes(name)),
  ].slice(0, MAX_METRICS);
  return gaps.length === 0 ? undefined : gaps;
}

/** Parses a number of steps: a whole number from 0 to the protocol's maximum. */
export function stepsOf(value: unknown): number | undefined {
  const steps = countOf(value);
  return Number.isInteger(steps) ? steps : undefined;
}

/** Parses a number from 0 to the protocol's maximum. The number may have a fraction. */
export function countOf(value: unknown): number | undefined {
  const count = atLeastZero(value);
  return count !== undefined && count <= MAX_COUNT ? count : undefined;
}

function atLeastZero(value: unknown): number | undefined {
  const figure = numberOf(value);
  return figure !== undefined && figure >= 0 ? figure : undefined;
}

/** Returns `part` of `whole` in percent, at most 100, with two decimals; undefined when either number is unknown. */
export function percentOf(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined) return undefined;
  return Math.min(100, Math.round((part / whole) * 10_000) / 100);
}

/** Returns a stage's name without the colon that bars put after it; undefined when nothing is left. */
export function stageOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const stage = value
    .trimStart()
    .slice(0, MAX_NAME_LENGTH)
    .toWellFormed()
    .replace(/[:\s]+$/, '');
  return stage === '' ? undefined : stage;
}

function metricsOf(fields: Fields, lossName: string | undefined): Readonly<Record<string, number>> {
  const metrics: [string, number][] = [];
  for (const [name, value] of fields) {
    const figure = numberOf(value);
    const isMetric =
      name !== '' && name.length <= MAX_NAME_LENGTH && !RESERVED.has(name) && name !== lossName;
    if (isMetric && figure !== undefined) metrics.push([name, figure]);
    if (metrics.length === MAX_METRICS) break;
  }
  return Object.fromEntries(metrics);
}

/** Reads the known names from `fields`. Drops an invalid value and keeps the others. */
export function readFields(fields: Fields): Progress {
  const first = <T>(names: readonly string[], read: (value: unknown) => T | undefined): T | undefined =>
    names.map(name => read(fields.get(name))).find(value => value !== undefined);
  const lossName = lossNames.find(name => numberOf(fields.get(name)) !== undefined);
  const step = first(NAMES.step, stepsOf);
  const totalSteps = first(NAMES.totalSteps, value => (numberOf(value) === 0 ? undefined : stepsOf(value)));
  return {
    step,
    totalSteps,
    epoch: first(NAMES.epoch, countOf),
    loss: lossName === undefined ? undefined : numberOf(fields.get(lossName)),
    learningRate: first(NAMES.learningRate, numberOf),
    stepsPerSecond: first(NAMES.stepsPerSecond, countOf),
    etaS: first(ETA_NAMES, countOf),
    percent: percentOf(first(NAMES.percent, atLeastZero), 100) ?? percentOf(step, totalSteps),
    stage: stageOf(fields.get('stage')),
    metrics: metricsOf(fields, lossName),
    gaps: gapsOf(fields, lossName),
  };
}

export function isEmpty(progress: Progress): boolean {
  const { metrics, ...rest } = progress;
  return Object.keys(metrics).length === 0 && Object.values(rest).every(value => value === undefined);
}
