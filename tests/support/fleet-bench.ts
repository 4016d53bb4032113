import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createFleet, type Fleet, type FleetOptions } from './fleet.ts';

/** Opens a fleet that closes at the end of the test. The test fails if the fleet has logged an error. */
export async function openFleet(options?: FleetOptions): Promise<Fleet> {
  const fleet = await createFleet(options);
  onTestFinished(() => fleet.close());
  return fleet;
}

/** A folder in memory (Linux only). Hundreds of tests sync files, which is fast there. */
const inMemory = '/dev/shm';

/** Creates an empty folder, and removes it at the end of the test. */
export function openFolder(): string {
  const folder = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), 'trainyard-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
