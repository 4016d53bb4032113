import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'trainyard-run-';
const isTestFolder = (): boolean => basename(tmpdir()).startsWith(prefix);

/** Creates the temporary folder of a test run. Teardown removes it, also after a failure. */
export function setup(): void {
  if (!isTestFolder()) process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), prefix));
}

/** Removes the temporary folder. May be called several times. */
export function teardown(): void {
  if (isTestFolder()) rmSync(tmpdir(), { recursive: true, force: true, maxRetries: 3 });
}
