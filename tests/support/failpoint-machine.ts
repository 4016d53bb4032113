/**
 * A failpoint preload (failpoint.ts) that simulates faults of the machine with the orders `clock MS`, `disk full` and `disk
 * free`. Ignores further words, so that a test can make repeated orders unique, as in `disk full #3`.
 */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => {
  const [target, value = ''] = order.split(' ');
  if (target === 'clock') shiftClock(Number(value));
  else fillDisk(value === 'full');
});
