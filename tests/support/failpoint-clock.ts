/** A failpoint preload (failpoint.ts) that shifts the program's wall clock by the number of milliseconds in each order. */
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => shiftClock(Number(order)));
