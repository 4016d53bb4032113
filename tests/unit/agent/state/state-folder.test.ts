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

describe('a kept report', () => {
  it('outlives the agent, word for word', () => {
    const dir = join(tempFolder(), 'state');
    openStateFolder(dir).keepReport(report);
    expect(readReport(openStateFolder(dir).runOf(report.attemptId))).toEqual(report);
  });

  it('is gone with its whole run when it was dropped', () => {
    const folder = openStateFolder(tempFolder());
    const run = folder.runOf(report.attemptId);
    folder.keepReport(report);
    writeFileSync(join(run.path, 'exit.json'), '{}');
    folder.dropReport(attemptId('a2'));
    expect(readReport(run)).toEqual(report);
    folder.dropReport(report.attemptId);
    expect(readdirSync(folder.runsDir)).toEqual([]);
    folder.dropReport(report.attemptId);
  });

  it('is in a folder of its owner alone, and nothing else is left there', () => {
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
    ['cut short', '{"jobId":"j1","attemptId":"a1","body":{"stat'],
    ['null', 'null'],
    ['a list', '[]'],
    ['of nothing', '{}'],
    ['of a strange job', JSON.stringify({ ...report, jobId: '../x' })],
    ['of no attempt', JSON.stringify({ ...report, attemptId: undefined })],
    ['of a strange status', JSON.stringify({ ...report, body: { status: 'splendid' } })],
    ['without a body', JSON.stringify({ ...report, body: null })],
    ['binary', '\0\u0001\ufffd'],
  ])('that is %s counts as none', (_what, text) => {
    const run = { path: tempFolder() };
    if (text !== null) writeFileSync(join(run.path, 'report.json'), text);
    expect(readReport(run)).toBeNull();
  });
});

describe("a worker's name for itself on its machine", () => {
  it('is the same after a restart, and another one in another folder', () => {
    const dir = tempFolder();
    const { instanceId } = openStateFolder(dir);
    expect(instanceId).toMatch(/^[0-9a-f]{24}$/);
    expect(openStateFolder(dir).instanceId).toBe(instanceId);
    expect(openStateFolder(tempFolder()).instanceId).not.toBe(instanceId);
  });

  it.each(['', 'x', 'a'.repeat(23), '\0'.repeat(24), `${'a'.repeat(24)}\nb`])(
    'is made anew when %j stands there instead',
    text => {
      const dir = tempFolder();
      writeFileSync(join(dir, 'instance'), text);
      const { instanceId } = openStateFolder(dir);
      expect(instanceId).toMatch(/^[0-9a-f]{24}$/);
      expect(readFileSync(join(dir, 'instance'), 'utf8')).toBe(`${instanceId}\n`);
    },
  );

  it('that can not be kept is an error', () => {
    const dir = tempFolder();
    mkdirSync(join(dir, 'instance'));
    expect(() => openStateFolder(dir)).toThrow('EISDIR');
  });
});
