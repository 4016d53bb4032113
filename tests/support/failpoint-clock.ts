/** Shifts the wall clock of a program by the milliseconds that it is ordered to. */
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => shiftClock(Number(order)));
