/** Executes the orders of failpoint-disk.ts (`full` and `free`) and of failpoint-clock.ts (a number of ms for the wall clock). */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => {
  if (order === 'full' || order === 'free') fillDisk(order === 'full');
  else shiftClock(Number(order));
});
