/**
 * A failpoint preload (failpoint.ts) that sets the program's wall clock ahead by the number of milliseconds in its setting. The
 * program then behaves as if it had been down for that time.
 */
import { setting } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

shiftClock(Number(setting()));
