/** In a preload: the wall clock of a program runs this many milliseconds ahead; nothing else of its time does. */
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
