import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type FinalReport, openStateFolder, writeWhole } from '../../../agent/state-folder.ts';
import { attemptId, jobId, tempFolder } from './builders.ts';

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
    expect(openStateFolder(dir).keptReport()).toEqual(report);
  });

  it('is replaced by the next, and gone when it was dropped', () => {
    const folder = openStateFolder(tempFolder());
    folder.keepReport(report);
    const next: FinalReport = { ...report, jobId: jobId('j2'), body: { status: 'completed', exit_code: 0 } };
    folder.keepReport(next);
    expect(folder.keptReport()).toEqual(next);
    folder.dropReport();
    expect(folder.keptReport()).toBeNull();
    folder.dropReport();
  });

  it('is in a folder of its owner alone, and nothing else is left there', () => {
    const dir = join(tempFolder(), 'a', 'state');
    const folder = openStateFolder(dir);
    folder.keepReport(report);
    folder.keepReport(report);
    expect(readdirSync(dir)).toEqual(['report.json']);
    expect([modeOf(dir), modeOf(join(dir, '..')), modeOf(join(dir, 'report.json'))]).toEqual([
      0o700, 0o700, 0o600,
    ]);
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
    const dir = tempFolder();
    if (text !== null) writeFileSync(join(dir, 'report.json'), text);
    expect(openStateFolder(dir).keptReport()).toBeNull();
  });
});

it('every start of the agent is another instance', () => {
  const dir = tempFolder();
  const ids = Array.from({ length: 3 }, () => openStateFolder(dir).instanceId);
  expect(new Set(ids).size).toBe(3);
  expect(ids.every(id => /^[0-9a-f]{24}$/.test(id))).toBe(true);
});

describe('writing a whole file', () => {
  it('takes the place of what was there, in one step and with its own mode', () => {
    const file = join(tempFolder(), 'config.json');
    writeFileSync(file, 'old', { mode: 0o644 });
    const before = statSync(file).ino;
    writeWhole(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(modeOf(file)).toBe(0o600);
    expect(statSync(file).ino).not.toBe(before);
  });

  it('that can not take its place leaves nothing behind', () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'config.json'));
    expect(() => writeWhole(join(folder, 'config.json'), 'new')).toThrow('EISDIR');
    expect(readdirSync(folder)).toEqual(['config.json']);
  });

  it.runIf(process.platform === 'linux')('leaves the old file when the disk takes only a part', () => {
    const folder = tempFolder();
    const file = join(folder, 'report.json');
    writeWhole(file, 'old');
    const module = JSON.stringify(
      pathToFileURL(join(import.meta.dirname, '../../../agent/state-folder.ts')).href,
    );
    const script = `
      import { writeWhole } from ${module};
      try { writeWhole(process.argv[1], 'x'.repeat(64 * 1024)); console.log('written'); }
      catch (cause) { console.log(cause.code); }`;
    // No file longer than 8 KiB: a short write comes first, and an error only with the next one.
    const limited = 'trap "" XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1" "$2"';
    const { stdout, stderr } = spawnSync('bash', ['-c', limited, process.execPath, script, file], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'EFBIG\n', stderr: '' });
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect(readdirSync(folder)).toEqual(['report.json']);
  });
});
