import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FinalReport, openStateFolder, readReport } from '../../../../agent/state/state-folder.ts';
import { attemptId, jobId, tempFolder } from '../builders.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;
const report: FinalReport = {
  jobId: jobId('j1'),
  attemptId: attemptId('a1'),
  body: {
    status: 'failed',
    error: 'Training exited with code 1\nRuntimeError: „ünïcode"',
    exit_code: 1,
    signal: null,
    cause: 'preempted',
    progress: { step: 3, metrics: { loss_ema: 0.5 } },
  },
};

describe('stored reports', () => {
  it('stores a report for later processes without changes', () => {
    const dir = join(tempFolder(), 'state');
    openStateFolder(dir).keepReport(report);
    expect(readReport(openStateFolder(dir).runOf(report.attemptId))).toEqual(report);
  });

  it('removes the whole run folder together with its report', () => {
    const folder = openStateFolder(tempFolder());
    const run = folder.runOf(report.attemptId);
    folder.keepReport(report);
    writeFileSync(join(run.path, 'exit.json'), '{}');
    folder.dropReport(attemptId('a2'));
    expect(readReport(run)).toEqual(report);
    folder.dropReport(report.attemptId);
    expect(readdirSync(folder.runsDir)).toEqual([]);
    // A second removal has no effect.
    folder.dropReport(report.attemptId);
  });

  it('stores a report with private modes, and leaves no other file', () => {
    const dir = join(tempFolder(), 'a', 'state');
    const folder = openStateFolder(dir);
    folder.keepReport(report);
    folder.keepReport(report);
    const run = folder.runOf(report.attemptId);
    expect(readdirSync(dir)).toEqual(['instance', 'runs']);
    expect(readdirSync(run.path)).toEqual(['report.json']);
    for (const path of [dir, join(dir, '..'), folder.runsDir, run.path]) expect(modeOf(path)).toBe(0o700);
    for (const path of [join(run.path, 'report.json'), join(dir, 'instance')])
      expect(modeOf(path)).toBe(0o600);
  });

  it.each([
    ['missing', null],
    ['empty', ''],
    ['cut off', '{"jobId":"j1","attemptId":"a1","body":{"stat'],
    ['null', 'null'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['about an invalid job', JSON.stringify({ ...report, jobId: '../x' })],
    ['without an attempt', JSON.stringify({ ...report, attemptId: undefined })],
    ['with an unknown status', JSON.stringify({ ...report, body: { status: 'splendid' } })],
    ['without a body', JSON.stringify({ ...report, body: null })],
    ['binary', '\0\u0001\ufffd'],
  ])('ignores a report file that is %s', (_title, text) => {
    const run = { path: tempFolder() };
    if (text !== null) writeFileSync(join(run.path, 'report.json'), text);
    expect(readReport(run)).toBeNull();
  });
});

describe('instance id', () => {
  it('keeps the instance id across restarts, and creates a new id in each folder', () => {
    const dir = tempFolder();
    const { instanceId } = openStateFolder(dir);
    expect(instanceId).toMatch(/^[0-9a-f]{24}$/);
    expect(openStateFolder(dir).instanceId).toBe(instanceId);
    expect(openStateFolder(tempFolder()).instanceId).not.toBe(instanceId);
  });

  it.each(['', 'x', 'a'.repeat(23), '\0'.repeat(24), `${'a'.repeat(24)}\nb`])(
    'replaces the invalid instance id %j',
    text => {
      const dir = tempFolder();
      writeFileSync(join(dir, 'instance'), text);
      const { instanceId } = openStateFolder(dir);
      expect(instanceId).toMatch(/^[0-9a-f]{24}$/);
      expect(readFileSync(join(dir, 'instance'), 'utf8')).toBe(`${instanceId}\n`);
    },
  );

  it('throws when the instance id cannot be stored', () => {
    const dir = tempFolder();
    mkdirSync(join(dir, 'instance'));
    expect(() => openStateFolder(dir)).toThrow('EISDIR');
  });
});
