/** Shifts the wall clock of this process. Other clocks stay unchanged. */
const RealDate = Date;
let shiftMs = 0;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    super(...((args.length === 0 ? [RealDate.now() + shiftMs] : args) as [number]));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
} as DateConstructor;

export function shiftClock(ms: number): void {
  shiftMs = ms;
}
