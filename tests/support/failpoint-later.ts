/** Starts a program with the wall clock this many milliseconds ahead, as if the server had been down for that long. */
import { setting } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

shiftClock(Number(setting()));
