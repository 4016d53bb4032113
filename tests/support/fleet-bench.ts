import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createFleet, type Fleet, type FleetOptions } from './fleet.ts';

/** A fleet that is closed with the test; it fails when something went wrong behind the scenes. */
export async function openFleet(options?: FleetOptions): Promise<Fleet> {
  const fleet = await createFleet(options);
  onTestFinished(() => fleet.close());
  return fleet;
}

/** Where Linux keeps files in memory: a sync costs nothing there, and hundreds of tests sync. */
const inMemory = '/dev/shm';

/** An empty folder, removed with the test. */
export function openFolder(): string {
  const folder = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), 'trainyard-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
