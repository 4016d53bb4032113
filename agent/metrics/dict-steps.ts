import type { Progress } from './progress-figures.ts';

/**
 * Finds the step of each dict that Hugging Face's Trainer prints. The dict does not contain its step. The progress bar
 * above the dict lags, because tqdm draws it at most ten times a second. To print a dict, tqdm clears the bar, prints,
 * and redraws the bar, which then shows the dict's step. The dict and the bar use different pipes, so either may be read
 * first. Without a redrawn bar, the step is computed from the dict's epoch.
 */
export interface DictSteps {
  /** Call for a line of blanks, with which tqdm clears the bar. */
  clear(): void;
  /** Call for each bar. Returns the dicts whose step it determines. */
  bar(step: number, totalSteps: number): readonly Progress[];
  /** Call for each dict. Holds the dict until its step can be determined. Returns the dicts whose step is known now. */
  dict(progress: Progress, epoch: PrintedEpoch | undefined): readonly Progress[];
  /** Call when the output ends. Returns the held dicts, each with its most likely step. */
  end(): readonly Progress[];
}

/** A printed epoch, which is rounded. `margin`: the maximum difference to the exact value. */
export interface PrintedEpoch {
  readonly value: number;
  readonly margin: number;
}

interface HeldDict {
  readonly progress: Progress;
  readonly epoch: PrintedEpoch | undefined;
  /** The step of the bar before the dict. */
  readonly from: number;
}

/** If more dicts than this arrive without a bar between them, the output has no bar. */
const maxHeld = 8;

export function createDictSteps(): DictSteps {
  const scale = createEpochScale();
  let held: readonly HeldDict[] = [];
  let last: { readonly step: number; readonly totalSteps: number } | null = null;
  let isCleared = false;
  /** The step of a redrawn bar whose dict was not read yet. */
  let redrawn: number | null = null;
  /** The logging interval: all logged steps are multiples of it. */
  let interval = 0;

  const finish = (dict: HeldDict, step: number): Progress => {
    if (dict.progress.loss !== undefined && step > 1) interval = gcd(interval, step);
    if (dict.epoch !== undefined) scale.learn(step, dict.epoch);
    return { ...dict.progress, step };
  };

  const guess = (dict: HeldDict, to: number): Progress => {
    const isLoss = dict.progress.loss !== undefined;
    const implied = scale.steps(dict.epoch);
    const within: Range = [Math.max(dict.from, implied[0]), Math.min(to, implied[1])];
    const range = isEmpty(within) && Number.isFinite(implied[1]) ? implied : within;
    return finish(
      dict,
      onlyInteger(range) ?? (isLoss ? multipleIn(range, interval) : null) ?? nearest(range, dict.from),
    );
  };

  /** Returns the held dicts with their steps. If `step` is not null, it is the step of the newest dict's redrawn bar. */
  const release = (step: number | null): readonly Progress[] => {
    const before = held.slice(0, step === null ? undefined : -1).map(dict => guess(dict, step ?? Infinity));
    const newest = step === null ? undefined : held.at(-1);
    held = [];
    return newest === undefined ? before : [...before, assignBarStep(newest, step ?? 0)];
  };

  /** Assigns the step of the redrawn bar to the dict, unless the epoch of the dict contradicts that. */
  const assignBarStep = (dict: HeldDict, step: number): Progress =>
    scale.allows(step, dict.epoch) ? finish(dict, step) : guess(dict, Infinity);

  return {
    clear() {
      isCleared = true;
      redrawn = null;
    },
    bar(step, totalSteps) {
      if (last !== null && (last.totalSteps !== totalSteps || step < last.step)) {
        scale.reset();
        interval = 0;
      }
      last = { step, totalSteps };
      const isRedrawn = isCleared;
      isCleared = false;
      if (held.length === 0) {
        if (isRedrawn) redrawn = step;
        return [];
      }
      if (isRedrawn) return release(step);
      const dicts = held;
      held = [];
      return dicts.map(dict => guess(dict, step));
    },
    dict(progress, epoch) {
      // Without a bar, the step is unknown.
      if (last === null) return [progress];
      const dict = { progress, epoch, from: last.step };
      if (redrawn !== null) {
        const step = redrawn;
        redrawn = null;
        return [assignBarStep(dict, step)];
      }
      held = [...held, dict];
      return held.length > maxHeld ? release(null) : [];
    },
    end: () => release(null),
  };
}

type Range = readonly [number, number];

const isEmpty = ([from, to]: Range): boolean => Math.ceil(from) > Math.floor(to);

/** Returns the only whole number in the range; null when there is none, or more than one. */
const onlyInteger = ([from, to]: Range): number | null =>
  Math.ceil(from) === Math.floor(to) ? Math.ceil(from) : null;

/** Returns the multiple of the interval near the middle of the range; null when the range contains none there. */
function multipleIn([from, to]: Range, interval: number): number | null {
  if (interval < 2 || !Number.isFinite(to)) return null;
  const multiple = Math.round((from + to) / 2 / interval) * interval;
  return multiple >= from && multiple <= to ? multiple : null;
}

/** Returns the step of the bar if the range contains it, else the middle of the range. */
function nearest([from, to]: Range, bar: number): number {
  if (bar >= from && bar <= to) return bar;
  return Number.isFinite(to) ? Math.round((from + to) / 2) : bar;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Estimates how many steps an epoch has. Each dict with a known step narrows the range. */
function createEpochScale() {
  let from = 0;
  let to = Infinity;
  const rangeOf = ({ value, margin }: PrintedEpoch): Range => [Math.max(0, value - margin), value + margin];
  const steps = (epoch: PrintedEpoch | undefined): Range => {
    if (epoch === undefined || epoch.value <= 0) return [0, Infinity];
    const [low, high] = rangeOf(epoch);
    // Widen the range, because floating point may put a whole number slightly outside.
    return [low * from * (1 - 1e-9), high * to * (1 + 1e-9)];
  };
  const reset = (): void => {
    from = 0;
    to = Infinity;
  };
  return {
    steps,
    reset,
    allows(step: number, epoch: PrintedEpoch | undefined): boolean {
      const [low, high] = steps(epoch);
      return step >= low && step <= high;
    },
    learn(step: number, epoch: PrintedEpoch): void {
      const [low, high] = rangeOf(epoch);
      if (low <= 0 || step <= 0) return;
      const range: Range = [Math.max(from, step / high), Math.min(to, step / low)];
      if (range[0] > range[1]) reset();
      else [from, to] = range;
    },
  };
}
