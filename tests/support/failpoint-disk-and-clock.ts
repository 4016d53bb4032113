/** Executes the orders of two other failpoints: `full` and `free` for the disk, and a number of ms for the wall clock. */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => {
  if (order === 'full' || order === 'free') fillDisk(order === 'full');
  else shiftClock(Number(order));
});
