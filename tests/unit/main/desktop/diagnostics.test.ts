import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createReport, sectionOf } from '../../../../main/cli/doctor/report.ts';
import { openLogFile } from '../../../../main/desktop/diagnostics/log-file.ts';
import { removeOldDumps } from '../../../../main/desktop/diagnostics/dumps.ts';
import { temporaryFolder } from '../../../support/processes.ts';

test('starts a new log file at the size limit, and keeps the previous file', () => {
  const file = join(temporaryFolder(), 'logs/main.log');
  const append = openLogFile(file, 20);
  append('first line, long\n');
  append('second line\n');
  append('third\n');
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('first line, long\n');
  expect(readFileSync(file, 'utf8')).toBe('second line\nthird\n');
  // After a restart, existing lines count toward the limit.
  openLogFile(file, 20)('fourth\n');
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('second line\nthird\n');
  expect(statSync(file).mode & 0o077).toBe(0);
});

test('does not throw when the log file cannot be written', () => {
  const file = join(temporaryFolder(), 'main.log');
  const append = openLogFile(file);
  mkdirSync(file);
  expect(() => append('a line\n')).not.toThrow();
});

test('keeps the five newest crash dumps across all subfolders', () => {
  const folder = temporaryFolder();
  for (const name of ['completed', 'pending']) mkdirSync(join(folder, name));
  for (let n = 1; n <= 8; n++) {
    const dump = join(folder, n % 2 === 0 ? 'completed' : 'pending', `${n}.dmp`);
    writeFileSync(dump, 'dump');
    utimesSync(dump, n, n);
  }
  writeFileSync(join(folder, 'settings.dat'), '');
  removeOldDumps(folder);
  const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.includes('.'));
  expect(left.toSorted()).toEqual([
    'completed/4.dmp',
    'completed/6.dmp',
    'completed/8.dmp',
    'pending/5.dmp',
    'pending/7.dmp',
    'settings.dat',
  ]);
});

test('reports the last 200 log lines and the names of crash dumps, without secrets', () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'desktop/logs'), { recursive: true });
  mkdirSync(join(dataDir, 'desktop/Crashpad/completed'), { recursive: true });
  const lines = Array.from({ length: 250 }, (_, n) => `line ${n}.\n`);
  writeFileSync(join(dataDir, 'desktop/logs/main.log'), `${lines.join('')}token=hf_${'a1'.repeat(17)}\n`);
  writeFileSync(join(dataDir, 'desktop/Crashpad/completed/one.dmp'), 'hf_secret memory');
  const report = createReport({
    dataDir,
    versions: { Electron: '45.0.0' },
    sections: [sectionOf('Settings', { port: 8001, name: 'rig', nested: { on: true } })],
  });
  expect(report).toContain('Electron: 45.0.0\n');
  expect(report).toContain('## Settings\nport: 8001\nname: rig\nnested: {"on":true}\n');
  expect(report).toContain('line 51.\n');
  expect(report).not.toContain('line 50.\n');
  expect(report).not.toContain('hf_');
  expect(report).toContain('completed/one.dmp (1 KiB, ');
  expect(createReport({ dataDir: join(dataDir, 'missing'), sections: [] })).toContain(
    '## Crash dumps\nnone\n',
  );
});
