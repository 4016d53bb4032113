import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPlaces, type RunFolder, writePlaces } from '../../../../agent/guard/guard-files.ts';
import { createGuardLog } from '../../../../agent/guard/guard-log.ts';
import { createLogDisk, type LogDisk } from '../../../../agent/guard/log-disk.ts';
import { createLogReader } from '../../../../agent/logs/log-reader.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { tempFolder } from '../builders.ts';

const mib = 1024 * 1024;
const line = (n: number): string => `line ${String(n).padStart(6, '0')}\n`;

/** A log that is split into two files. Each file has at most `maxBytes`. */
function createFixture(maxBytes = 1_000) {
  const folder = tempFolder();
  const run: RunFolder = { path: join(folder, 'run') };
  mkdirSync(run.path);
  const file = join(folder, 'trainer.log');
  const disk = createLogDisk({ file, maxBytes, onPlaces: places => writePlaces(run, places) });
  const reader = createLogReader(run, file);
  const readAll = async (): Promise<string> => {
    let text = '';
    for (let bytes = await reader.next(); bytes.length > 0; bytes = await reader.next())
      text += Buffer.from(bytes).toString();
    return text;
  };
  const write = (text: string): Promise<number> => disk.append(Buffer.from(text));
  return { folder, run, file, disk, reader, readAll, write };
}

/** The first line of a log file that continues an older file. */
const continuationNote = '[trainyard: this goes on from trainer.log.1; what was before that is not kept]\n';

describe('log in two files', () => {
  it('bounds the log, splits it at line ends, and reads both files as one log', async () => {
    const { file, disk, readAll, write } = createFixture();
    let read = '';
    for (let n = 0; n < 300; n += 1) {
      expect(await write(line(n))).toBe(0);
      if (n % 40 === 0) read += await readAll();
    }
    read += await readAll();
    await disk.close();
    expect(read.replaceAll(continuationNote, '')).toBe(
      Array.from({ length: 300 }, (_, n) => line(n)).join(''),
    );
    for (const path of [file, `${file}.1`]) {
      const text = readFileSync(path, 'utf8');
      expect(text.length).toBeLessThan(1_000 + line(0).length);
      expect(text.startsWith(continuationNote)).toBe(true);
      // Apart from the note, the file contains only whole lines.
      expect(text).toMatch(/^(\[trainyard.*\n)?(line \d{6}\n)+$/);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
  });

  it('reads the remaining part of a log whose older files were removed', async () => {
    const { disk, readAll, reader, write } = createFixture();
    for (let n = 0; n < 500; n += 1) await write(line(n));
    await disk.close();
    expect(await reader.behind()).toBeGreaterThan(5_000);
    const read = await readAll();
    expect(read.endsWith(line(498) + line(499))).toBe(true);
    expect(read.length).toBeLessThan(2_100);
    expect(await reader.behind()).toBe(0);
  });

  it('starts reading at the given position', async () => {
    const { readAll, reader, write } = createFixture(mib);
    for (let n = 0; n < 50; n += 1) await write(line(n));
    await reader.skipTo(2 * line(0).length);
    expect(await readAll()).toBe(line(48) + line(49));
  });

  it('appends to the log of an earlier attempt, and reads only the new part', async () => {
    const { file, readAll, write } = createFixture();
    writeFileSync(file, 'earlier\n');
    await write(line(1));
    expect(readFileSync(file, 'utf8')).toBe(`earlier\n${line(1)}`);
    expect(await readAll()).toBe(line(1));
  });

  it('reports output that cannot be written as lost, and writes later output when the disk works again', async () => {
    const { readAll, write, file } = createFixture();
    // A folder with the name of the log file makes every write fail.
    mkdirSync(file);
    expect(await write('lost\n')).toBe(5);
    rmSync(file, { recursive: true });
    expect(await write('here\n')).toBe(0);
    expect(await readAll()).toBe('here\n');
  });

  it('records that the older file is gone before it removes the file', async () => {
    const folder = tempFolder();
    const run: RunFolder = { path: folder };
    const file = join(folder, 'trainer.log');
    const olderInode = (): number => (existsSync(`${file}.1`) ? statSync(`${file}.1`).ino : 0);
    let knownInode = 0;
    /** The recorded place of the older file at each rotation. */
    const recordedPlaces: (number | null)[] = [];
    const disk = createLogDisk({
      file,
      maxBytes: 100,
      onPlaces(places) {
        if (olderInode() !== knownInode) recordedPlaces.push(readPlaces(run)?.previous ?? null);
        knownInode = olderInode();
        writePlaces(run, places);
      },
    });
    for (let n = 0; n < 60; n += 1) await disk.append(Buffer.from(line(n)));
    expect(recordedPlaces.length).toBeGreaterThan(2);
    expect(new Set(recordedPlaces)).toEqual(new Set([null]));
  });

  it('reads from any position without changing the position of the next read', async () => {
    const { reader, write } = createFixture();
    expect(await reader.end()).toBe(0);
    expect(await reader.read(3, 10)).toMatchObject({ from: 3, bytes: new Uint8Array() });
    for (let n = 0; n < 10; n += 1) await write(line(n));
    expect(await reader.end()).toBe(120);
    const { from, bytes } = await reader.read(12, 24);
    expect([from, Buffer.from(bytes).toString()]).toEqual([12, line(1) + line(2)]);
    expect((await reader.read(120, 10)).bytes).toHaveLength(0);
    expect((await reader.read(500, 10)).bytes).toHaveLength(0);
    const next = Buffer.from(await reader.next()).toString();
    expect(next.startsWith(line(0))).toBe(true);
    for (let n = 10; n < 400; n += 1) await write(line(n));
    const late = await reader.read(12, 1_000_000);
    expect(late.from).toBeGreaterThan(2_000);
    expect(Buffer.from(late.bytes).toString()).toMatch(/^\[trainyard.*\n(line \d{6}\n)+$/);
    const newest = await reader.read((await reader.end()) - 24, 100);
    expect(Buffer.from(newest.bytes).toString()).toBe(line(398) + line(399));
  });

  it('reads nothing from a log that does not exist yet', async () => {
    const { reader } = createFixture();
    expect(await reader.behind()).toBe(0);
    expect(await reader.next()).toHaveLength(0);
  });
});

/** A disk that completes a write only when the test calls `complete`. */
function createSlowDisk() {
  const writes: { readonly text: string; readonly complete: (missingBytes?: number) => void }[] = [];
  let isClosed = false;
  const disk: LogDisk = {
    append: bytes =>
      new Promise(resolve => {
        writes.push({
          text: Buffer.from(bytes).toString(),
          complete: (missingBytes = 0) => resolve(missingBytes),
        });
      }),
    close: async () => {
      isClosed = true;
    },
  };
  return { disk, writes, isClosed: () => isClosed };
}

describe('slow disk', () => {
  const block = Buffer.alloc(mib, 'x');
  const createSlowLog = () => {
    const clock = createVirtualClock();
    const slow = createSlowDisk();
    const log = createGuardLog(slow.disk, clock);
    let written = 0;
    const write = (bytes: Uint8Array): void => void log.write(bytes).then(() => (written += 1));
    return { clock, ...slow, log, write, written: () => written };
  };

  it('delays the output of the trainer first, and then drops output to bound memory', async () => {
    const { clock, writes, write, written } = createSlowLog();
    write(block);
    await clock.settle();
    expect(written()).toBe(1);
    write(block);
    await clock.advance(1_999);
    expect(written()).toBe(1);
    await clock.advance(1);
    expect(written()).toBe(2);
    for (let n = 0; n < 20; n += 1) write(block);
    await clock.settle();
    expect(written()).toBe(22);
    // One block is being written, and three more wait. The log keeps only the total size of the later blocks.
    writes[0]?.complete();
    await clock.settle();
    expect(writes[1]?.text.length).toBe(3 * mib);
    writes[1]?.complete();
    write(Buffer.from('after'));
    await clock.settle();
    expect(writes[2]?.text).toBe(
      `\n[trainyard: ${18 * mib} bytes of output could not be written here]\nafter`,
    );
  });

  it('limits how long the end of a run waits for the disk', async () => {
    const { clock, log, write, isClosed } = createSlowLog();
    write(Buffer.from('last line'));
    let hasEnded = false;
    void log.close().then(() => (hasEnded = true));
    await clock.advance(4_999);
    expect(hasEnded).toBe(false);
    await clock.advance(1);
    expect(hasEnded).toBe(true);
    expect(isClosed()).toBe(false);
  });

  it('reports a partial write with the next output or at the end', async () => {
    const { clock, writes, log, write, isClosed } = createSlowLog();
    write(Buffer.from('0123456789'));
    await clock.settle();
    writes[0]?.complete(4);
    await clock.settle();
    void log.close();
    await clock.settle();
    expect(writes[1]?.text).toBe('\n[trainyard: 4 bytes of output could not be written here]\n');
    writes[1]?.complete();
    await clock.settle();
    expect(isClosed()).toBe(true);
  });
});
