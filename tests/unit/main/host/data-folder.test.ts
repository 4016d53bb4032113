import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { announceOrWarn, makeFolder, openDataFolder } from '../../../../main/host/data-folder.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

const createLog = (warnings: string[]) => ({
  info: () => {},
  warn: (event: string) => void warnings.push(event),
  error: () => {},
});

describe('openDataFolder', () => {
  test('creates the secrets once, readable only by their owner under any umask', () => {
    const folder = openFolder();
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const first = openDataFolder(folder);
    expect(first.adminToken).toMatch(/^ta_[\w-]{43}$/);
    expect(first.auditKey).toHaveLength(32);
    expect(openDataFolder(folder)).toEqual(first);
    expect(readdirSync(folder).toSorted()).toEqual(['admin-token', 'audit-key']);
    for (const name of readdirSync(folder)) expect(modeOf(join(folder, name))).toBe('600');
  });

  test('creates the secrets again when their creation was interrupted', () => {
    const folder = openFolder();
    for (const name of ['admin-token', 'audit-key']) writeFileSync(join(folder, `${name}.new`), 'incomplete');
    const { adminToken, auditKey } = openDataFolder(folder);
    expect([adminToken.length, auditKey.length]).toEqual([46, 32]);
    expect(readdirSync(folder).toSorted()).toEqual(['admin-token', 'audit-key']);
  });

  test('refuses secrets that other users can read', () => {
    const folder = openFolder();
    openDataFolder(folder);
    chmodSync(join(folder, 'audit-key'), 0o640);
    expect(() => openDataFolder(folder)).toThrow(`${join(folder, 'audit-key')} can be read by others`);
  });

  test('refuses an empty admin token', () => {
    const folder = openFolder();
    openDataFolder(folder);
    writeFileSync(join(folder, 'admin-token'), '\n');
    expect(() => openDataFolder(folder)).toThrow('admin-token is empty: delete it');
  });

  test.each([
    ['empty', () => ''],
    ['truncated', (key: string) => key.slice(0, 40)],
    ['changed', () => 'z'.repeat(64)],
  ])('refuses an audit key that is %s', (_case, damage) => {
    const folder = openFolder();
    openDataFolder(folder);
    const file = join(folder, 'audit-key');
    writeFileSync(file, damage(readFileSync(file, 'utf8')));
    expect(() => openDataFolder(folder)).toThrow(`${file} is not a valid key`);
    rmSync(file);
    expect(openDataFolder(folder).auditKey).toHaveLength(32);
  });
});

test('writes the server URL to a file readable only by its owner, and removes the file on stop', () => {
  const folder = openFolder();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const file = join(folder, 'url');
  for (const name of [file, `${file}.new`]) writeFileSync(name, 'http://127.0.0.1:1', { mode: 0o666 });
  const withdraw = announceOrWarn(folder, 'http://127.0.0.1:8001', createLog([]));
  expect(readFileSync(file, 'utf8')).toBe('http://127.0.0.1:8001\n');
  expect(modeOf(file)).toBe('600');
  expect(readdirSync(folder)).toEqual(['url']);
  withdraw();
  withdraw();
  expect(existsSync(file)).toBe(false);
});

test('logs a warning when the server URL cannot be written', () => {
  const warnings: string[] = [];
  const missing = join(openFolder(), 'missing');
  announceOrWarn(missing, 'http://127.0.0.1:8001', createLog(warnings))();
  expect(warnings).toEqual(['server.not_announced']);
});

describe('makeFolder', () => {
  test('creates a folder with its parents, and keeps the mode of an existing folder', () => {
    const path = join(openFolder(), 'a', 'b');
    makeFolder(path);
    expect([modeOf(path), modeOf(join(path, '..'))]).toEqual(['700', '700']);
    chmodSync(path, 0o750);
    makeFolder(path);
    expect(modeOf(path)).toBe('750');
  });

  test('names the folder that cannot be created in the error', () => {
    const file = join(openFolder(), 'file');
    writeFileSync(file, '');
    const path = join(file, 'data');
    expect(() => makeFolder(path)).toThrow(`The folder ${path} cannot be created: `);
    expect(() => makeFolder(file)).toThrow(`The folder ${file} cannot be created: `);
  });
});
