/**
 * A failpoint preload (failpoint.ts) that shifts the program's wall clock and the machine's uptime by the number of
 * milliseconds in each order. Both clocks agree, so the program trusts its wall clock.
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

function applyOrder(order: string): void {
  shiftClock(Number(order));
  shiftS = Number(order) / 1_000;
}

// Apply the first shift before the program starts, because the audit trail never goes back in time.
applyOrder(readFileSync(setting(), 'utf8').trim());
onOrder(applyOrder);
