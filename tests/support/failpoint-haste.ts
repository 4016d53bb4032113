/**
 * A failpoint preload (failpoint.ts) that speeds up time in a program by the factor in its setting: clocks run faster and
 * timers fire earlier. All programs of a test must use the same factor, so that they agree on the time.
 */
import { setting } from './failpoint.ts';

const factor = Number(setting());
const RealDate = Date;
const startedAt = { wall: RealDate.now(), monotonic: performance.now() };
const realMonotonic = performance.now.bind(performance);
const monotonicNow = (): number => startedAt.monotonic + (realMonotonic() - startedAt.monotonic) * factor;
const wallNow = (): number => Math.floor(startedAt.wall + (realMonotonic() - startedAt.monotonic) * factor);

performance.now = monotonicNow;

globalThis.Date = class HastyDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    super(...((args.length === 0 ? [wallNow()] : args) as [number]));
  }

  static override now(): number {
    return wallNow();
  }
} as DateConstructor;

const { setTimeout: realTimeout, setInterval: realInterval } = globalThis;

const hastyTimeout = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout =>
  realTimeout(run, ms / factor, ...args);

globalThis.setTimeout = Object.assign(hastyTimeout, realTimeout);

const hastyInterval = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout =>
  realInterval(run, ms / factor, ...args);

globalThis.setInterval = Object.assign(hastyInterval, realInterval);
