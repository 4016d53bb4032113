import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'trainyard-run-';
const isOurs = (): boolean => basename(tmpdir()).startsWith(prefix);

/** A test run writes everything into one temporary folder. Teardown removes it, also after a failure. */
export function setup(): void {
  if (!isOurs()) process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), prefix));
}

/** Runs once per suite. Repeated calls are harmless. */
export function teardown(): void {
  if (isOurs()) rmSync(tmpdir(), { recursive: true, force: true, maxRetries: 3 });
}
