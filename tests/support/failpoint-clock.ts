/** Shifts the wall clock of a program, and nothing else of its time, by the milliseconds that it is ordered to. */
import { onOrder } from './failpoint.ts';

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

onOrder(order => {
  shiftMs = Number(order);
});
