/**
 * Simulates faults of the machine by the orders `clock MS`, `disk full` and `disk free`. A last word that is ignored,
 * such as the 3 in `disk full 3`, lets a test give the same order twice.
 */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => {
  const [target, value = ''] = order.split(' ');
  if (target === 'clock') shiftClock(Number(value));
  else fillDisk(value === 'full');
});
