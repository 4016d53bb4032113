import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'trainyard-run-';
const isOurs = (): boolean => basename(tmpdir()).startsWith(prefix);

/** Everything that a test run writes lies in one folder, which goes when the run ends, also after a failure. */
export function setup(): void {
  if (!isOurs()) process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), prefix));
}

/** Called once a suite, and harmless from the second time on. */
export function teardown(): void {
  if (isOurs()) rmSync(tmpdir(), { recursive: true, force: true, maxRetries: 3 });
}
