/** A machine that obeys `clock MS`, `disk full` and `disk free`. What stands behind that only tells orders apart. */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

onOrder(order => {
  const [what, how = ''] = order.split(' ');
  if (what === 'clock') shiftClock(Number(how));
  else fillDisk(how === 'full');
});
