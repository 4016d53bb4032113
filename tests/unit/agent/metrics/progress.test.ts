import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createProgressReader, createTail, type OutputItem } from '../../../../agent/metrics/progress.ts';
import { json, line, readAll, type Chunks } from '../../../support/trainer-output.ts';

describe('lines', () => {
  it.each<[string, Chunks, readonly OutputItem[]]>([
    ['\\n and \\r\\n', ['one\ntwo\r\n\nthree\n'], [line('one'), line('two'), line(''), line('three')]],
    ['a last line without an end', ['one\ntwo'], [line('one'), line('two')]],
    ['empty output', [], []],
    ['an empty chunk', ['', new Uint8Array()], []],
    ['redraws', ['a\rb\r\rc\n'], [line('a', { redraw: true }), line('b', { redraw: true }), line('c')]],
    ['a redraw at the end', ['a\r'], [line('a', { redraw: true })]],
    ['\\r first, as tqdm draws', ['\ra\rb'], [line('a', { redraw: true }), line('b')]],
    ['\\r\\r\\n of a terminal', ['a\r\r\nb\n'], [line('a'), line('b')]],
    [
      '\\r and \\n in two chunks',
      ['a\r', '\nb\r', 'c\n'],
      [line('a'), line('b', { redraw: true }), line('c')],
    ],
    ['a line in many chunks', ['o', 'n', 'e\nt', 'wo\n'], [line('one'), line('two')]],
    ['a line with colors', ['\u001b[31mred\u001b[0m\n'], [line('\u001b[31mred\u001b[0m')]],
    ['NUL and other control characters', ['a\0\u0001b\n'], [line('a\0\u0001b')]],
    ['a character in two chunks', [Buffer.from([0xe2, 0x96]), Buffer.from([0x88, 0x0a])], [line('█')]],
    ['invalid UTF-8', [Buffer.from([0x61, 0xff, 0xc3, 0x0a])], [line('a\ufffd\ufffd')]],
    ['half a character at the end', [Buffer.from([0x61, 0xe2])], [line('a\ufffd')]],
    ['half a character before a text', [Buffer.from([0xe2]), 'a\n'], [line('\ufffda')]],
    ['a byte order mark', [Buffer.from('\ufeffa\n')], [line('\ufeffa')]],
  ])('splits %s into lines', (_title, chunks, items) => {
    expect(readAll(...chunks)).toEqual(items);
  });

  it('does not join output from before and after end()', () => {
    const reader = createProgressReader();
    reader.push('left over\r');
    expect([reader.end(), reader.push('new\n'), reader.end()]).toEqual([
      [line('left over', { redraw: true })],
      [line('new')],
      [],
    ]);
  });
});

const KIB = 1024;

describe('long lines', () => {
  it.each([
    ['64 KiB', 'x'.repeat(64 * KIB), 64 * KIB, false],
    ['64 KiB and one byte', 'x'.repeat(64 * KIB + 1), 64 * KIB, true],
    ['multi-byte characters', '█'.repeat(30 * KIB), Math.floor((64 * KIB) / 3), true],
    ['a character at the limit', 'x'.repeat(64 * KIB - 1) + '🚂', 64 * KIB - 1, true],
  ])('cuts lines at 64 KiB: %s', (_title, text, length, truncated) => {
    const items = readAll(`${text}\nnext\n`);
    expect(items).toEqual([line(text.slice(0, length), truncated ? { truncated } : {}), line('next')]);
  });

  it('discards the rest of a long line while it arrives', () => {
    const reader = createProgressReader();
    const megabyte = 'x'.repeat(KIB * KIB);
    for (let i = 0; i < 8; i += 1) expect(reader.push(megabyte)).toEqual([]);
    expect(reader.push('\r\nnext\n')).toEqual([
      line('x'.repeat(64 * KIB), { truncated: true }),
      line('next'),
    ]);
  });

  it('reads no progress from a cut line', () => {
    const cut = json({ step: 1 }) + ' '.repeat(64 * KIB);
    expect(readAll(`${cut}\n`)).toEqual([line(cut.slice(0, 64 * KIB), { truncated: true })]);
  });
});

const TOKENS = [
  '\r',
  '\n',
  '\u001b[',
  '\u001b]',
  '"',
  '\\',
  '{',
  '}',
  '%|',
  '|',
  '[',
  ']',
  '<',
  ',',
  '=',
  '/',
  ':',
  ' ',
  '1',
  '450',
  '01:23',
  'it',
  's',
  'NaN',
  'Epoch 3/10',
  '{"type":"progress","step":1}',
  ' 45%|█| 450/1000 [01:23<01:41, 5.42it/s, a=1]',
  '🚂',
];

describe('any input', () => {
  const output = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .array(fc.constantFrom(...TOKENS), { maxLength: 40 })
      .map(tokens => Uint8Array.from(Buffer.from(tokens.join('')))),
    // Lines whose length is close to the maximum.
    fc
      .tuple(fc.integer({ min: -3, max: 3 }), fc.constantFrom(...TOKENS), fc.constantFrom(...TOKENS))
      .map(([difference, first, last]) =>
        Uint8Array.from(Buffer.from(`${first}${'x'.repeat(64 * KIB + difference)}${last}`)),
      ),
  );

  it('returns the same items for any division into chunks', () => {
    fc.assert(
      fc.property(output, fc.array(fc.nat(), { maxLength: 12 }), (bytes, cuts) => {
        const edges = [0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].toSorted(
          (a, b) => a - b,
        );
        const chunks = edges.map((edge, index) => bytes.slice(edges[index - 1] ?? 0, edge));
        expect(readAll(...chunks)).toEqual(readAll(bytes));
      }),
      { numRuns: 200 },
    );
  });

  it('returns the same items when each byte arrives separately', () => {
    fc.assert(
      fc.property(output, bytes => {
        const whole = readAll(bytes);
        expect(
          readAll(...Array.from(bytes.slice(0, 1000), byte => Uint8Array.of(byte)), bytes.slice(1000)),
        ).toEqual(whole);
        const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
        expect(readAll(...text.slice(0, 1000).split(''), text.slice(1000))).toEqual(whole);
      }),
    );
  });

  it('bounds the length of lines, and returns only finite figures', () => {
    fc.assert(
      fc.property(output, bytes => {
        for (const item of readAll(bytes)) {
          if (item.kind === 'line') expect(Buffer.byteLength(item.text)).toBeLessThanOrEqual(64 * KIB);
          else expect(Object.values(item.progress.metrics).every(Number.isFinite)).toBe(true);
        }
      }),
    );
  });
});

/**
 * Returns the CPU time of this thread for reading the lines three times, in µs. Other processes hardly affect CPU time.
 * The result is at least 10 ms, because the clock may tick only every 10 ms.
 */
function measureCpuTime(lines: readonly string[]): number {
  const text = lines.join('\n');
  const start = process.threadCpuUsage();
  for (let run = 0; run < 3; run += 1) readAll(text);
  const { user, system } = process.threadCpuUsage(start);
  return Math.max(10_000, user + system);
}

/**
 * Returns the time for long lines divided by the time for the same text in short lines. Linear work has a ratio of 1.
 * Quadratic work has the ratio of the line lengths. The result is the minimum of several runs, because noise only adds
 * time. A ratio below `goodRatio` ends the runs early.
 */
function minRatio(long: readonly string[], short: readonly string[], goodRatio: number): number {
  let ratio = Infinity;
  for (let attempt = 0; attempt < 8 && ratio >= goodRatio; attempt += 1) {
    ratio = Math.min(ratio, measureCpuTime(long) / measureCpuTime(short));
  }
  return ratio;
}

/** Quadratic work costs 32 times as much for 64 KiB as for 2 KiB. Garbage collection alone can cost a factor of 9. */
const maxRatio = 16;

describe('linear time', () => {
  const repeat = (unit: string, length: number): string =>
    unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

  it.each([
    ['escaped quotes', '{"progress"', '\\"', '}'],
    ['quotes', '{"progress"', '"', '}'],
    ['backslashes', '{"progress":"', '\\', '}'],
    ['open brackets', '{"progress":', '[', '}'],
    ['open objects', '{"progress":', '{"a":', '}'],
    ['prefixes of -Infinity', '{"progress":', '-Infinit', '}'],
    ['many keys', '{"type":"progress",', '"a":1,', '"b":1}'],
    ['a long stage of spaces', '{"type":"progress","stage":"a', ' ', 'x"}'],
    ['a long figure', '{"type":"progress","loss":"', '1', 'x"}'],
    ['escapes', '', '\u001b', ''],
    ['unfinished CSI', '', '\u001b[1;', ''],
    ['unfinished OSC', '', '\u001b]0', ''],
    ['spaces', 'a', ' ', 'x'],
  ])('reads a line with %s in linear time', (_title, before, unit, after) => {
    // 50 characters leave room for `before` and `after`.
    const hostile = (length: number): string => before + repeat(unit, length - 50) + after;
    const short = Array.from({ length: 64 }, () => hostile(2 * KIB));
    const long = [hostile(64 * KIB), hostile(64 * KIB)];
    expect(minRatio(long, short, maxRatio)).toBeLessThan(maxRatio);
  });

  it.each([
    '%|',
    '[',
    ']',
    ' [01:23, ',
    '1/',
    'epoch ',
    'epoch 1',
    ': ',
    '0:00',
    '1',
    ',',
    '=',
    'a=1,',
    'map',
    'loading',
  ])('reads bars made of %j in linear time', unit => {
    const hostile = (length: number): string => `Epoch 1 50%|█| 1/2 [00:01, ${repeat(unit, length - 40)}]`;
    const short = Array.from({ length: 512 }, () => hostile(128));
    const long = Array.from({ length: 32 }, () => hostile(2 * KIB));
    // Quadratic work costs 16 times as much for 2 KiB as for 128 bytes.
    expect(minRatio(long, short, 8)).toBeLessThan(8);
  });
});

describe('tail of the output', () => {
  const tailOf = (lines: readonly string[], maxLines?: number, maxBytes?: number): string => {
    const tail = createTail(maxLines, maxBytes);
    for (const text of lines) tail.push(text);
    return tail.text();
  };

  it('keeps the last 20 lines', () => {
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
    expect(tailOf(lines)).toBe(lines.slice(10).join('\n'));
  });

  it('keeps at most 4096 bytes of whole lines', () => {
    const text = tailOf(Array.from({ length: 5 }, () => '█'.repeat(300)));
    expect(text).toBe(Array.from({ length: 4 }, () => '█'.repeat(300)).join('\n'));
  });

  it.each<[string, readonly string[], string]>([
    ['nothing', [], ''],
    ['blank lines', ['a', '', ' \t ', '\u001b[0m', 'b'], 'a\nb'],
    ['colours and control characters', ['\u001b[31mE:\u001b[0m\tout of\0\u0007'], 'E: out of'],
    ['the start of a last line over the limit', ['first', `Error${'█'.repeat(10)}`], 'Error█'],
  ])('returns the last non-blank lines without control characters: %s', (_title, lines, expected) => {
    expect(tailOf(lines, 3, 10)).toBe(expected);
  });

  it('returns a tail within the limits for any input', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc
            .array(fc.constantFrom(...TOKENS, '█', '\0', 'word'), { maxLength: 5 })
            .map(parts => parts.join('')),
        ),
        fc.integer({ min: 1, max: 5 }),
        fc.nat(40),
        (lines, maxLines, maxBytes) => {
          const text = tailOf(lines, maxLines, maxBytes);
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
          expect(text.split('\n').length).toBeLessThanOrEqual(maxLines);
        },
      ),
    );
  });
});
