import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { showWhole, writeWhole } from '../../../../agent/files/whole-file.ts';
import { tempFolder } from '../builders.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('writing a whole file', () => {
  it.each([
    ['writeWhole', writeWhole],
    ['showWhole', showWhole],
  ])('replaces a file atomically, and gives it a private mode: %s', (_title, write) => {
    const file = join(tempFolder(), 'config.json');
    writeFileSync(file, 'old', { mode: 0o644 });
    // A new inode shows that the file was replaced, and not overwritten in place.
    const inodeBefore = statSync(file).ino;
    write(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(modeOf(file)).toBe(0o600);
    expect(statSync(file).ino).not.toBe(inodeBefore);
  });

  it.each([
    ['writeWhole', writeWhole],
    ['showWhole', showWhole],
  ])('throws when the folder of the file is missing: %s', (_title, write) => {
    const folder = join(tempFolder(), 'gone');
    expect(() => write(join(folder, 'log.json'), '{}')).toThrow('ENOENT');
    expect(existsSync(folder)).toBe(false);
  });

  it('leaves no temporary file when the file cannot be replaced', () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'config.json'));
    expect(() => writeWhole(join(folder, 'config.json'), 'new')).toThrow('EISDIR');
    expect(readdirSync(folder)).toEqual(['config.json']);
  });

  it.runIf(process.platform === 'linux')(
    'keeps the old file when the new content is written only in part',
    () => {
      const folder = tempFolder();
      const file = join(folder, 'report.json');
      writeWhole(file, 'old');
      const module = JSON.stringify(
        pathToFileURL(join(import.meta.dirname, '../../../../agent/files/whole-file.ts')).href,
      );
      const script = `
      import { writeWhole } from ${module};
      try { writeWhole(process.argv[1], 'x'.repeat(64 * 1024)); console.log('written'); }
      catch (cause) { console.log(cause.code); }`;
      // Limits files to 8 KiB. The write that reaches the limit writes only a part; the next write fails.
      const limited = 'trap "" XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1" "$2"';
      const { stdout, stderr } = spawnSync('bash', ['-c', limited, process.execPath, script, file], {
        encoding: 'utf8',
      });
      expect({ stdout, stderr }).toEqual({ stdout: 'EFBIG\n', stderr: '' });
      expect(readFileSync(file, 'utf8')).toBe('old');
      expect(readdirSync(folder)).toEqual(['report.json']);
    },
  );
});
