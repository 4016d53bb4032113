/** A program that starts when the wall clock is this many milliseconds ahead, as after the server was away for so long. */
import { setting } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

shiftClock(Number(setting()));
