/**
 * Speeds up time in a program by a factor: clocks run faster and timers fire earlier. All programs of a test must use the
 * same factor, so that they agree on the time.
 */
import { setting } from './failpoint.ts';

const factor = Number(setting());
const RealDate = Date;
const startedAt = { wall: RealDate.now(), mono: performance.now() };
const realMono = performance.now.bind(performance);
const monoNow = (): number => startedAt.mono + (realMono() - startedAt.mono) * factor;
const wallNow = (): number => Math.floor(startedAt.wall + (realMono() - startedAt.mono) * factor);

performance.now = monoNow;

globalThis.Date = class HastyDate extends RealDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [wallNow()] : given) as [number]));
  }

  static override now(): number {
    return wallNow();
  }
} as DateConstructor;

const { setTimeout: realTimeout, setInterval: realInterval } = globalThis;

const hastyTimeout = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): NodeJS.Timeout =>
  realTimeout(run, ms / factor, ...given);

globalThis.setTimeout = Object.assign(hastyTimeout, realTimeout);

const hastyInterval = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): NodeJS.Timeout =>
  realInterval(run, ms / factor, ...given);

globalThis.setInterval = Object.assign(hastyInterval, realInterval);
