import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { FolderInUse, lockFolder } from '../../../main/store/db/folder-lock.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { modesIn } from './bench.ts';

const since = '2026-01-01T12:00:00.000Z';
const program = fileURLToPath(new URL('./lock-holder.ts', import.meta.url));

interface LockHolder {
  readonly child: ChildProcess;
  // Resolves with the next line of the output.
  next(): Promise<string>;
  // Makes the process try to lock the folder. Resolves with `won`, or with `lost` and the reason.
  tryLock(): Promise<string>;
}

function startHolder(folder: string): LockHolder {
  const child = spawn(process.execPath, [program, folder, since], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  return {
    child,
    next,
    tryLock() {
      child.stdin.write('go\n');
      return next();
    },
  };
}

function lock(folder: string) {
  const heldLock = lockFolder(folder, since);
  onTestFinished(heldLock.release);
  return heldLock;
}

function lockRefusal(folder: string): string {
  try {
    lockFolder(folder, since).release();
  } catch (cause) {
    if (cause instanceof FolderInUse) return cause.message;
    throw cause;
  }
  return 'none';
}

test('reports which process has locked the folder, since when, and a remedy', () => {
  const folder = openFolder();
  const heldLock = lock(folder);
  expect(lockRefusal(folder)).toBe(
    `The data folder ${folder} is in use by another orchestrator, process ${process.pid}, since ${since}: ` +
      'use or stop that one, or give this one another --data-dir',
  );
  heldLock.release();
  heldLock.release();
  expect(lockRefusal(folder)).toBe('none');
});

test.skipIf(process.platform === 'win32')('creates its lock files readable only by their owner', () => {
  const folder = openFolder();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  lock(folder);
  expect(modesIn(folder)).toEqual({ 'lock.db': '600', 'lock.json': '600' });
});

test('gives the lock to exactly one of 50 processes that start together', { timeout: 60_000 }, async () => {
  const folder = openFolder();
  const holders = Array.from({ length: 50 }, () => startHolder(folder));
  for (const { next } of holders) expect(await next()).toBe('ready');
  const outputs = await Promise.all(holders.map(({ tryLock }) => tryLock()));
  expect(outputs.filter(line => line === 'won')).toHaveLength(1);
  expect(outputs.filter(line => line.startsWith('lost: '))).toHaveLength(49);
});

test('releases the lock when its holder is killed, and no longer names the killed process', async () => {
  const folder = openFolder();
  const first = startHolder(folder);
  await first.next();
  expect(await first.tryLock()).toBe('won');
  expect(lockRefusal(folder)).toContain(`process ${first.child.pid}, since ${since}`);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  // Put the old lock file back, as if the next holder had not written its name yet.
  const staleFile = readFileSync(join(folder, 'lock.json'), 'utf8');
  const heldLock = lock(folder);
  writeFileSync(join(folder, 'lock.json'), staleFile);
  expect(lockRefusal(folder)).toContain('another orchestrator, one that is just starting');
  heldLock.release();
});

test.each([
  [JSON.stringify({ pid: 1, host: 'rig-7', since }), 'process 1 on rig-7, since'],
  [JSON.stringify({ pid: 1, host: hostname(), since }), 'process 1, since'],
  // The pid is above the maximum of Linux, so no process has it.
  [JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), since }), 'one that is just starting'],
  [JSON.stringify({ pid: 'x', host: 7 }), 'one that is just starting'],
  ['null', 'one that is just starting'],
  ['{"pid": 1', 'one that is just starting'],
])('reads the holder from the lock file without trusting the file: %s', (text, expectedHolder) => {
  const folder = openFolder();
  lock(folder);
  writeFileSync(join(folder, 'lock.json'), text);
  expect(lockRefusal(folder)).toContain(`another orchestrator, ${expectedHolder}`);
});

test('keeps the folder lock when no variable of the program refers to the lock', () => {
  const folder = openFolder();
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  lockFolder(folder, since);
  for (let n = 0; n < 5; n++) collectGarbage();
  expect(lockRefusal(folder)).toContain(`process ${process.pid}`);
  process.listeners('exit').at(-1)?.(0);
  expect(lockRefusal(folder)).toBe('none');
});

test('refuses a lock file that is not a database, with an error that names the file', () => {
  const folder = openFolder();
  writeFileSync(join(folder, 'lock.db'), 'a letter to my aunt, long enough to have a header\n'.repeat(20));
  expect(() => lockFolder(folder, since)).toThrow(`${join(folder, 'lock.db')} is not a database`);
});
