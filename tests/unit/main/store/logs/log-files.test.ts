import {
  appendFileSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LogPiece, StoredLine } from '../../../../../main/orchestrator/ports/index.ts';
import { createLogFiles, type OpenLogFiles } from '../../../../../main/store/logs/log-files.ts';
import { JobId } from '../../../../../protocol/ids.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { createVirtualClock } from '../../../../support/virtual-clock.ts';
import { markBytes } from '../../../../../main/store/logs/log-segments.ts';

const job = JobId.parse('j_1');
const silentLog = { info: () => {}, warn: () => {}, error: () => {} };
const MiB = 2 ** 20;

function openLogs(
  folder: string,
  overrides: { readonly perAttempt?: number; readonly reserve?: number } = {},
) {
  const clock = createVirtualClock();
  const files = createLogFiles({
    folder,
    perAttempt: 256 * MiB,
    reserve: 0,
    clock,
    log: silentLog,
    ...overrides,
  });
  onTestFinished(() => files.close());
  return { ...files, clock };
}

// Creates a chunk of output that starts at byte `after`.
const piece = (after: number, text: string, overrides: Partial<LogPiece> = {}): LogPiece => ({
  after,
  from: after,
  to: after + Buffer.byteLength(text),
  text,
  isLast: false,
  ...overrides,
});

// Returns the byte offset at which the next chunk must start.
async function nextOffset(appended: ReturnType<OpenLogFiles['append']>): Promise<number> {
  const outcome = await appended;
  if (!outcome.ok) throw new Error(outcome.refusal.detail);
  return outcome.value;
}

// Appends each text as a separate chunk. Returns the byte offset after the last chunk.
async function appendTexts(
  files: Pick<OpenLogFiles, 'append'>,
  texts: readonly string[],
  from = 0,
): Promise<number> {
  let offset = from;
  for (const text of texts) offset = await nextOffset(files.append(job, 1, piece(offset, text)));
  return offset;
}

async function readLines(files: Pick<OpenLogFiles, 'lines'>, from = 0): Promise<readonly StoredLine[]> {
  const lines: StoredLine[] = [];
  for await (const batch of files.lines(job, 1, from, 16_384)) lines.push(...batch);
  return lines;
}
const textsIn = async (files: Pick<OpenLogFiles, 'lines'>, from = 0): Promise<readonly string[]> =>
  (await readLines(files, from)).map(({ text }) => text);

const logPath = (folder: string, name: string): string => join(folder, job, '1', name);

describe('appending to a log', () => {
  test('splits lines at line feeds, wherever chunks end', async () => {
    const files = openLogs(openFolder());
    await appendTexts(files, ['one\ntw', 'o\nthr', '', 'ee', '\n\n', 'five']);
    expect((await readLines(files)).map(({ line, text }) => [line, text])).toEqual([
      [0, 'one'],
      [1, 'two'],
      [2, 'three'],
      [3, ''],
    ]);
    for (const line of [0, 1, 2, 3, 4, 5])
      expect((await readLines(files, line))[0]?.line).toBe(line < 4 ? line : undefined);
    expect(await files.facts(job, 1)).toMatchObject({ totalLines: 4, firstLine: 0, openLine: 'five' });
    expect(await files.facts(job, 2)).toBeNull();
    expect(await files.attempts(job)).toEqual([1]);
  });

  test('folds carriage returns like a terminal, wherever chunks end', async () => {
    const files = openLogs(openFolder());
    const texts = ['a\rbc', '\r', '\n\rd\r\r', 'e\r\n', 'f\r', '\n', 'x\r1%', '\r2', '%\r'];
    await appendTexts(files, texts);
    expect(await textsIn(files)).toEqual(['bc', 'e', 'f']);
    expect((await files.facts(job, 1))?.openLine).toBe('2%');
    const wholeLogs = openLogs(openFolder());
    await appendTexts(wholeLogs, [texts.join('')]);
    expect(await textsIn(wholeLogs)).toEqual(['bc', 'e', 'f']);
  });

  test('cuts a line that is too long, but never inside a character', async () => {
    const files = openLogs(openFolder());
    for (const text of ['ä'.repeat(20_000), `x${'ä'.repeat(20_000)}`, '🚂'.repeat(5_000)]) {
      // Appending an empty chunk changes nothing, and returns the end offset of the log.
      const end = (await files.append(job, 1, piece(-1, ''))) as { readonly value: number };
      await appendTexts(files, [text.slice(0, 9_000), `${text.slice(9_000)}\n`], end.value);
    }
    const lines = await readLines(files);
    expect(lines.map(({ isCut }) => isCut)).toEqual([true, true, true]);
    expect(lines.map(({ text }) => text)).toEqual([
      'ä'.repeat(8_192),
      `x${'ä'.repeat(8_191)}`,
      '🚂'.repeat(4_096),
    ]);
  });

  test('appends chunks of concurrent requests one after the other', async () => {
    const files = openLogs(openFolder());
    const offsets = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        nextOffset(files.append(job, 1, piece(n * 10, `${n}`.repeat(9) + '\n'))),
      ),
    );
    expect(offsets).toEqual([10, 20, 30, 40, 50, 60, 70, 80]);
    expect(await textsIn(files)).toEqual(Array.from({ length: 8 }, (_, n) => `${n}`.repeat(9)));
  });

  test('refuses an append while eight appends run, or when the disk is full', async () => {
    const files = openLogs(openFolder());
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => files.append(job, 1, piece(0, 'a\n'))),
    );
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(8);
    expect(outcomes.at(-1)).toMatchObject({ refusal: { code: 'too_many_uploads' } });
    const onFullDisk = openLogs(openFolder(), { reserve: Number.MAX_SAFE_INTEGER });
    expect(await onFullDisk.append(job, 1, piece(0, 'a\n'))).toMatchObject({ refusal: { code: 'storage' } });
    expect(await onFullDisk.facts(job, 1)).toBeNull();
  });

  test('notifies a watcher about an append and about the removal of the log', async () => {
    const files = openLogs(openFolder());
    let notifications = 0;
    const stop = files.watch(job, 1, () => (notifications += 1));
    await appendTexts(files, ['a\n']);
    await nextOffset(files.append(job, 2, piece(0, 'b\n')));
    expect(notifications).toBe(1);
    await files.remove(job);
    expect([notifications, await files.facts(job, 1), await files.attempts(job)]).toEqual([2, null, []]);
    stop();
    await appendTexts(files, ['a\n']);
    expect(notifications).toBe(2);
  });

  test('appends without waiting for a sync, and reopens an idle log for the next append', async () => {
    const files = openLogs(openFolder());
    await appendTexts(files, ['one\n']);
    await files.clock.advance(61_000);
    expect(await appendTexts(files, ['two\n'], 4)).toBe(8);
    expect(await textsIn(files)).toEqual(['one', 'two']);
  });
});

// Lists the files below a folder that this process has open.
const openFilesBelow = (folder: string): readonly string[] =>
  readdirSync('/proc/self/fd')
    .map(targetOf)
    .filter(file => file.startsWith(folder));

// Returns the file of the descriptor, or '' for the descriptor that `readdirSync` has used and closed.
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

test.skipIf(process.platform !== 'linux')('closes the files of a log that has ended or is idle', async () => {
  const folder = openFolder();
  const files = openLogs(folder);
  await appendTexts(files, ['one\n']);
  expect(openFilesBelow(folder)).toHaveLength(2);
  await files.clock.advance(3_000);
  await expect.poll(() => openFilesBelow(folder)).toEqual([]);
  await nextOffset(files.append(job, 1, piece(4, 'two\n', { isLast: true })));
  expect(openFilesBelow(folder)).toEqual([]);
  expect(await textsIn(files)).toEqual(['one', 'two']);
});

/** Writes a log of three chunks, which the tests then damage. */
async function writeLog(folder: string): Promise<void> {
  const files = openLogs(folder);
  await appendTexts(files, ['one\n', 'two\n', 'three\n']);
  await files.close();
}

describe('repairing a damaged log', () => {
  const index = '000000.index';
  const text = '000000.text';
  const sizeOf = (folder: string, name: string): number =>
    statSync(logPath(folder, name), { throwIfNoEntry: false })?.size ?? 0;

  test.each<readonly [description: string, damage: (folder: string) => void, intactLines: readonly string[]]>(
    [
      [
        'with a torn index entry',
        folder => truncateSync(logPath(folder, index), 4 * markBytes - 1),
        ['one', 'two'],
      ],
      [
        'with only half of two index entries',
        folder => truncateSync(logPath(folder, index), 3 * markBytes - 20),
        ['one'],
      ],
      [
        'with text that has no index entry',
        folder => appendFileSync(logPath(folder, text), 'fo'),
        ['one', 'two', 'three'],
      ],
      [
        'with garbage after its index entries',
        folder => appendFileSync(logPath(folder, index), Buffer.alloc(markBytes * 2)),
        ['one', 'two', 'three'],
      ],
      [
        'with less text than its index entries cover',
        folder => truncateSync(logPath(folder, text), 9),
        ['one', 'two'],
      ],
      [
        'with text that ends where an index entry does',
        folder => truncateSync(logPath(folder, text), 4),
        ['one'],
      ],
      ['with an empty text file', folder => truncateSync(logPath(folder, text), 0), []],
      ['without its text file', folder => rmSync(logPath(folder, text)), []],
      [
        'with zeros at the end of its text',
        folder => writeFileSync(logPath(folder, text), 'one\ntwo\n\0\0\0\0\0\0'),
        ['one', 'two'],
      ],
      ['cut before its first index entry', folder => truncateSync(logPath(folder, index), 20), []],
      [
        'with a changed index entry',
        folder => {
          const bytes = readFileSync(logPath(folder, index));
          bytes.writeUInt8(bytes.readUInt8(2 * markBytes + 3) ^ 1, 2 * markBytes + 3);
          writeFileSync(logPath(folder, index), bytes);
        },
        ['one'],
      ],
    ],
  )('continues a log %s after its last intact chunk', async (_, damage, intactLines) => {
    const folder = openFolder();
    await writeLog(folder);
    damage(folder);
    const files = openLogs(folder);
    // Each line ends with a line feed.
    const intactBytes = intactLines.reduce((sum, line) => sum + line.length + 1, 0);
    expect(await textsIn(files)).toEqual(intactLines);
    // The text after the last intact chunk is removed from the disk, too.
    expect(sizeOf(folder, text)).toBe(intactBytes);
    expect(await nextOffset(files.append(job, 1, piece(999, 'far\n')))).toBe(intactBytes);
    const texts = ['one\n', 'two\n', 'three\n', 'four\n'];
    await appendTexts(files, texts.slice(intactLines.length), intactBytes);
    expect(await textsIn(files)).toEqual(['one', 'two', 'three', 'four']);
    await files.close();
    expect([sizeOf(folder, text), sizeOf(folder, index)]).toEqual([19, 5 * markBytes]);
    expect(await textsIn(openLogs(folder))).toEqual(['one', 'two', 'three', 'four']);
  });

  test('drops a chunk whose append failed halfway, and accepts the chunk again', async () => {
    const folder = openFolder();
    const files = openLogs(folder);
    await appendTexts(files, ['one\n']);
    const handle = await open(logPath(folder, text), 'r');
    const prototype = Object.getPrototypeOf(handle) as { write: (...args: unknown[]) => Promise<unknown> };
    await handle.close();
    const { write } = prototype;
    onTestFinished(() => void (prototype.write = write));
    let writeCount = 0;
    // The write of the text succeeds, but the disk is full before the index entry is written.
    prototype.write = function writeOrFail(...args) {
      writeCount += 1;
      if (writeCount !== 2) return write.apply(this, args);
      return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }));
    };
    expect(await files.append(job, 1, piece(4, 'two\n'))).toMatchObject({ refusal: { code: 'storage' } });
    prototype.write = write;
    expect(await textsIn(files)).toEqual(['one']);
    await appendTexts(files, ['two\n'], 4);
    expect(await textsIn(files)).toEqual(['one', 'two']);
  });
});

describe('a log that spans several files', () => {
  const lineOf = (n: number): string => `line ${n} ${'x'.repeat(90)}`;
  const linesFrom = (from: number, count: number): string =>
    Array.from({ length: count }, (_, n) => `${lineOf(from + n)}\n`).join('');
  const linesPerChunk = 500;
  const appendChunks = async (files: Pick<OpenLogFiles, 'append'>, chunks: number): Promise<number> => {
    const texts = Array.from({ length: chunks }, (_, n) => linesFrom(n * linesPerChunk, linesPerChunk));
    return appendTexts(files, texts);
  };
  const fileNames = (folder: string): readonly string[] => readdirSync(join(folder, job, '1')).toSorted();

  test('splits a large log into several files, and reads across these files', async () => {
    const folder = openFolder();
    const files = openLogs(folder, { perAttempt: 4 * MiB });
    await appendChunks(files, 60);
    expect(fileNames(folder).length).toBeGreaterThanOrEqual(6);
    expect(await textsIn(files)).toEqual(Array.from({ length: 60 * linesPerChunk }, (_, n) => lineOf(n)));
    for (const from of [10_500, 10_499, 20_000, 29_999])
      expect((await textsIn(files, from))[0]).toBe(lineOf(from));
    await files.close();
    const reopened = openLogs(folder, { perAttempt: 4 * MiB });
    expect((await textsIn(reopened, 29_999))[0]).toBe(lineOf(29_999));
  });

  test('keeps only the newest part of a log beyond the size limit, and reports its first line number', async () => {
    const folder = openFolder();
    const files = openLogs(folder, { perAttempt: MiB });
    const end = await appendChunks(files, 60);
    const facts = await files.facts(job, 1);
    expect(facts).toMatchObject({ totalLines: 30_000 });
    const first = facts?.firstLine ?? 0;
    expect(first).toBeGreaterThan(15_000);
    expect(facts?.bytes).toBeLessThanOrEqual(MiB);
    expect(facts?.bytes).toBeGreaterThan(MiB / 2);
    const lines = await readLines(files);
    expect([lines[0]?.line, lines[0]?.text, lines.length]).toEqual([first, lineOf(first), 30_000 - first]);
    await files.close();
    const reopened = openLogs(folder, { perAttempt: MiB });
    expect(await nextOffset(reopened.append(job, 1, piece(0, 'again\n')))).toBe(end);
    expect((await reopened.facts(job, 1))?.firstLine).toBe(first);
  });

  test('starts a log with a whole line after its oldest part is removed', async () => {
    const files = openLogs(openFolder(), { perAttempt: MiB });
    // No chunk ends at the end of a line, so the oldest part ends within a line.
    const text = linesFrom(0, 30_000);
    // The expression splits the text into pieces of 50,001 characters.
    const chunks = text.match(/[^]{1,50001}/g) ?? [];
    await appendTexts(files, chunks);
    const { firstLine = 0 } = (await files.facts(job, 1)) ?? {};
    const lines = await readLines(files);
    expect(firstLine).toBeGreaterThan(10_000);
    expect(lines.map(({ text: line }) => line)).toEqual(
      Array.from({ length: 30_000 - firstLine }, (_, n) => lineOf(firstLine + n)),
    );
    expect((await textsIn(files, 29_000))[0]).toBe(lineOf(29_000));
  });

  test('bounds the disk usage of a log of many small chunks', async () => {
    const folder = openFolder();
    const files = openLogs(folder, { perAttempt: 40_000 });
    await appendTexts(
      files,
      Array.from({ length: 3_000 }, () => '\n'),
    );
    const bytes = fileNames(folder).reduce((sum, name) => sum + statSync(logPath(folder, name)).size, 0);
    expect(bytes).toBeLessThan(60_000);
    expect((await files.facts(job, 1))?.totalLines).toBe(3_000);
  });

  test.each<readonly [description: string, damage: (folder: string) => void]>([
    ['damaged', folder => truncateSync(logPath(folder, '000001.text'), 100)],
    ['missing', folder => ['000001.text', '000001.index'].forEach(name => rmSync(logPath(folder, name)))],
  ])('returns the lines after a middle file that is %s', async (_, damage) => {
    const folder = openFolder();
    const first = openLogs(folder, { perAttempt: 4 * MiB });
    await appendChunks(first, 60);
    await first.close();
    damage(folder);
    const files = openLogs(folder, { perAttempt: 4 * MiB });
    const { firstLine = 0, totalLines } = (await files.facts(job, 1)) ?? {};
    expect([firstLine > 10_000, totalLines]).toEqual([true, 30_000]);
    expect((await textsIn(files))[0]).toBe(lineOf(firstLine));
  });

  test('searches a log to its end, and stops when the search is cancelled', async () => {
    const files = openLogs(openFolder(), { perAttempt: 4 * MiB });
    await appendChunks(files, 60);
    const search = (isOver: () => boolean) =>
      files.search(job, 1, { text: 'LINE 2999', from: 0, limit: 2, isOver });
    expect(await search(() => false)).toMatchObject({
      total: 11,
      matches: [{ line: 2_999 }, { line: 29_990 }],
    });
    // The search calls `isOver` repeatedly.
    let calls = 0;
    expect(await search(() => (calls += 1) === 3)).toBeNull();
    expect(calls).toBe(3);
  });

  test('continues in the last intact file when a crash left the next file incomplete', async () => {
    const folder = openFolder();
    const first = openLogs(folder, { perAttempt: 4 * MiB });
    const end = await appendChunks(first, 30);
    await first.close();
    const newest =
      fileNames(folder)
        .filter(name => name.endsWith('.index'))
        .at(-1) ?? '';
    // File names start with a number of six digits.
    const nextNumber = String(Number(newest.slice(0, 6)) + 1).padStart(6, '0');
    writeFileSync(logPath(folder, `${nextNumber}.text`), 'junk');
    writeFileSync(logPath(folder, `${nextNumber}.index`), 'half an index entry');
    const files = openLogs(folder, { perAttempt: 4 * MiB });
    expect((await files.facts(job, 1))?.totalLines).toBe(15_000);
    expect(fileNames(folder).at(-1)?.slice(0, 6)).toBe(newest.slice(0, 6));
    await appendTexts(files, ['more\n'], end);
    expect(await textsIn(files, 15_000)).toEqual(['more']);
  });

  test('reads a log without gaps or repeated lines while its oldest files are removed', async () => {
    const files = openLogs(openFolder(), { perAttempt: 4 * MiB });
    const end = await appendChunks(files, 40);
    const received: number[] = [];
    let next = end;
    for await (const batch of files.lines(job, 1, 0, 16_384)) {
      received.push(...batch.map(({ line }) => line));
      next = await appendTexts(files, [linesFrom(20_000, linesPerChunk)], next);
    }
    expect(received).toEqual(received.map((_, n) => n));
    expect(received.length).toBeLessThanOrEqual(20_000);
  });
});

describe('notes about lost log bytes', () => {
  test('writes each note about lost bytes on its own line, and keeps the notes after a restart', async () => {
    const folder = openFolder();
    const files = openLogs(folder);
    await appendTexts(files, ['half']);
    await nextOffset(files.append(job, 1, { ...piece(4, 'a\nb\n'), from: 1_004, to: 1_008 }));
    await nextOffset(files.append(job, 1, { ...piece(1_008, ''), from: 1_010, to: 1_010, isLast: true }));
    const readNotes = async (logs: OpenLogFiles) =>
      (await readLines(logs)).map(({ line, text, isNote }) => [line, text, isNote]);
    const expected = [
      [0, 'half', false],
      [1, expect.stringMatching(/^\[trainyard\] 1000 bytes/), true],
      [2, 'a', false],
      [3, 'b', false],
      [4, expect.stringMatching(/^\[trainyard\] 2 bytes/), true],
    ];
    expect(await readNotes(files)).toEqual(expected);
    await files.close();
    const reopened = openLogs(folder);
    expect(await readNotes(reopened)).toEqual(expected);
    expect(await reopened.facts(job, 1)).toMatchObject({ isEnded: true, openLine: null });
  });
});
