/** A preload that shifts a program's wall clock ahead by this many milliseconds. Its other clocks stay unchanged. */
const RealDate = Date;
let shiftMs = 0;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + shiftMs] : given) as [number]));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
} as DateConstructor;

export function shiftClock(ms: number): void {
  shiftMs = ms;
}
