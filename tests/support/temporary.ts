import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'trainyard-run-';
const isTestFolder = (): boolean => basename(tmpdir()).startsWith(prefix);

/** Creates the temporary folder of a test run. `teardown` removes the folder, even after failed tests. */
export function setup(): void {
  if (!isTestFolder()) process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), prefix));
}

/** Removes the temporary folder of the test run. Can be called several times. */
export function teardown(): void {
  if (isTestFolder()) rmSync(tmpdir(), { recursive: true, force: true, maxRetries: 3 });
}
