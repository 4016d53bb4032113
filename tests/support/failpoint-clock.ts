/** Shifts the wall clock of a program by the number of milliseconds in each order. */
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => shiftClock(Number(order)));
