/**
 * Shifts the wall clock of a program by the number of milliseconds in each order, and the time since the machine was
 * booted as well. So the program trusts its wall clock.
 */
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { onOrder } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

const realUptime = os.uptime;
let shiftS = 0;
os.uptime = () => realUptime() + shiftS;
syncBuiltinESMExports();

onOrder(order => {
  shiftClock(Number(order));
  shiftS = Number(order) / 1_000;
});
