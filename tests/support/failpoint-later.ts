/** Sets the wall clock of a program ahead by a number of milliseconds, as if the server had been down for that time. */
import { setting } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

shiftClock(Number(setting()));
