/**
 * Shifts the wall clock of a program, and the time since the machine was booted, by the number of milliseconds in each
 * order. Both clocks agree, so the program trusts its wall clock.
 */
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { onOrder, setting } from './failpoint.ts';
import { shiftClock } from './shifted-clock.ts';

const realUptime = os.uptime;
let shiftS = 0;
os.uptime = () => realUptime() + shiftS;
syncBuiltinESMExports();

function obey(order: string): void {
  shiftClock(Number(order));
  shiftS = Number(order) / 1_000;
}

// The audit trail never goes back in time, so the first shift applies before the program starts.
obey(readFileSync(setting(), 'utf8').trim());
onOrder(obey);
