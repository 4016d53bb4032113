import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLogText, type LogTextOptions, type Wanted } from '../../../../agent/logs/log-text.ts';
import { redact } from '../../../../agent/logs/redact.ts';
import { terminalText } from '../../../support/log-book.ts';

const ownLine = '[trainyard: this goes on]';
const limit = 4_096;
const createText = (overrides: Partial<LogTextOptions> = {}) =>
  createLogText({
    offset: 0,
    before: new Uint8Array(),
    limit,
    knownSecrets: () => [],
    ownLine,
    ...overrides,
  });

/** Takes all chunks that are due. Returns the chunks, their joined text, and the byte offset in the output after them. */
function takeAll(text: ReturnType<typeof createText>, wanted: Wanted) {
  const chunks = [];
  for (let chunk = text.take(wanted); chunk !== null; chunk = text.take(wanted)) chunks.push(chunk);
  return { text: chunks.map(chunk => chunk.text).join(''), to: chunks.at(-1)?.to ?? null, chunks };
}

/** Returns the text that the agent sends for this output. */
function convert(output: string | Uint8Array, wanted: Wanted, overrides: Partial<LogTextOptions> = {}) {
  const text = createText(overrides);
  text.push(Buffer.from(output));
  return takeAll(text, wanted);
}

describe('folding of output', () => {
  it.each([
    ['lines unchanged', 'a\nb\n\nc\n', 'a\nb\n\nc\n', 7],
    ['no unfinished line', 'a\nb', 'a\n', 2],
    ['CRLF as one line end', 'a\r\nb\r\r\n', 'a\nb\n', 7],
    ['only the newest bar, before the next line', '\r1%\r2%\r3%\rdone\n', '3%\rdone\n', 15],
    ['no bars before a line follows', 'a\n1%\r2%\r', 'a\n', 2],
    ['the last state of an erased bar', '9%\r   \rline\n', '9%\rline\n', 12],
    ['no carriage returns without a bar', '\r\r\rline\n', 'line\n', 8],
  ])('sends to the log: %s', (_title, output, text, to) => {
    expect(convert(output, 'lines')).toMatchObject({ text, to });
  });

  it.each([
    ['the newest bar', 'a\n1%\r2%\r3%\r', 'a\n3%', 10],
    ['an unfinished bar in place', 'a\n1%\r2%| [2s]', 'a\n2%| [2s]', 13],
    ['an unfinished line', 'Loading ... ', 'Loading ... ', 12],
    ['no partial character', Buffer.from('ü€').subarray(0, 4), 'ü', 2],
  ])('sends to the log when bars are due: %s', (_title, output, text, to) => {
    expect(convert(output, 'bars')).toMatchObject({ text, to });
  });

  it('returns to the start of the line when it updates a bar that was sent unfinished', () => {
    const text = createText();
    text.push(Buffer.from('1% [1s]'));
    expect(text.take('bars')).toEqual({ text: '1% [1s]', to: 7 });
    text.push(Buffer.from('\r2%\r3%\r'));
    expect(text.take('lines')).toBeNull();
    text.push(Buffer.from('end\n'));
    expect(text.take('lines')).toEqual({ text: '\r3%\rend\n', to: 18 });
    expect(text.take('all')).toBeNull();
  });

  it('sends everything at the end, and replaces invalid UTF-8 by U+FFFD', () => {
    const text = createText();
    text.push(Buffer.from([0x61, 0xff, 0x0a, 0x62, 0xe2, 0x82, 0x0d]));
    expect(text.isEmpty()).toBe(false);
    expect(text.take('all')).toEqual({ text: 'a\ufffd\nb\ufffd\r', to: 7 });
    expect(text.isEmpty()).toBe(true);
    expect(text.take('all')).toBeNull();
  });

  it('sends a long series of carriage returns in parts, to bound memory', () => {
    expect(convert('\r'.repeat(100_000), 'bars').to).toBeGreaterThan(98_000);
  });

  it("omits the guard's own line, also in the middle of another line", () => {
    expect(convert(`a\n${ownLine}\nb\n`, 'lines')).toMatchObject({ text: 'a\nb\n' });
    expect(convert(`a${ownLine}\nb\n`, 'lines')).toMatchObject({ text: 'ab\n', to: 29 });
  });
});

describe('chunks', () => {
  it('ends chunks at line ends', () => {
    const { chunks, text } = convert(`${'x'.repeat(600)}\n`.repeat(20), 'lines');
    expect(text).toBe(`${'x'.repeat(600)}\n`.repeat(20));
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) {
      expect(chunk.text.length).toBeLessThanOrEqual(limit);
      expect(chunk.text.endsWith('\n')).toBe(true);
    }
  });

  it('cuts a long line at spaces, or between characters when the line has no spaces', () => {
    const words = 'lorem ipsum '.repeat(5_000);
    for (const { to } of convert(words, 'lines').chunks) expect(words[to - 1]).toBe(' ');
    const withoutSpaces = '€'.repeat(20_000);
    const sent = convert(withoutSpaces, 'all');
    expect(sent.text).toBe(withoutSpaces);
    expect(sent.chunks.length).toBeGreaterThan(3);
  });

  const secret = `hf_${'aB3'.repeat(12)}`;
  it.each([secret, `PASSWORD="${'word '.repeat(40)}"`, `Authorization: Bearer ${'x1'.repeat(40)}`])(
    'redacts %s wherever a chunk is cut',
    words => {
      // Moves the secret past the first cut, character by character.
      for (let before = 950; before < 1_080; before += 1) {
        const output = `${'x'.repeat(before)} ${words} ${'y'.repeat(20_000)}\n`;
        expect(convert(output, 'lines').text).toBe(redact(output));
      }
    },
  );

  it.each([secret, 'AKIAIOSFODNN7EXAMPLE', `sk-${'aB3'.repeat(12)}`])(
    'sends no part of the secret %s when a chunk ends within the secret',
    words => {
      for (let at = 0; at < words.length; at += 1) {
        const text = createText();
        text.push(Buffer.from(`so ${words.slice(0, at)}`));
        const first = text.take('bars');
        text.push(Buffer.from(`${words.slice(at)}\n`));
        expect((first?.text ?? '') + (text.take('lines')?.text ?? '')).toBe('so [redacted]\n');
      }
    },
  );

  it('sends no part of a secret at the end of an unfinished line', () => {
    for (const words of [
      secret,
      'MY_PASSWORD=abc def',
      `https://me:secret@host`,
      'wandb login 3f9ac07be1d2458690ab3f9ac07be1d2458690ab',
      'known-value',
    ])
      for (let at = 0; at < words.length; at += 1) {
        const text = createText({ knownSecrets: () => ['known-value'] });
        text.push(Buffer.from(`so: ${words.slice(0, at)}`));
        const first = text.take('bars');
        text.push(Buffer.from(`${words.slice(at)}\n`));
        const sent = (first?.text ?? '') + (text.take('lines')?.text ?? '');
        const expected = redact(`so: ${words}\n`, ['known-value']);
        // Up to three characters before a redacted secret may be missing, because they could be the start of a secret.
        const withoutStart = (output: string): string => output.replace(/\S{0,3}\[redacted\]/g, '[redacted]');
        expect(withoutStart(sent)).toBe(withoutStart(expected));
      }
  });
});

describe('resumed reading', () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${'aB3d'.repeat(16)}\n`.repeat(5)}-----END RSA PRIVATE KEY-----\n`;
  const output = `start\nAuthorization: Bearer abc12345 and more\n${key}9%\r10%\rend\n`;

  it('sends the same text wherever a restart interrupts the output', () => {
    const whole = convert(output, 'lines').text;
    const bytes = Buffer.from(output);
    for (let length = 1; length <= bytes.length; length += 1) {
      const first = createText();
      first.push(bytes.subarray(0, length));
      const { text, to } = takeAll(first, 'lines');
      const offset = to ?? 0;
      const second = createText({ offset, before: bytes.subarray(0, offset) });
      second.push(bytes.subarray(offset));
      expect(text + takeAll(second, 'lines').text).toBe(whole);
    }
    expect(whole).toBe('start\nAuthorization: Bearer [redacted] and more\n[redacted]\n10%\rend\n');
  });
});

const textPiece = fc.oneof(
  fc.constantFrom(
    '\n',
    '\n',
    '\r',
    '\r\n',
    ' ',
    '5%| |',
    'step',
    '€',
    '🚂',
    `hf_${'aB3'.repeat(9)}`,
    'AKIAIOSFODNN7EXAMPLE',
    `${ownLine}x`,
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.integer({ min: 0, max: 2_000 }).map(length => 'long '.repeat(length)),
);
const outputPiece = fc.oneof(
  { weight: 8, arbitrary: textPiece.map(piece => Buffer.from(piece)) },
  fc.uint8Array({ maxLength: 20 }),
);

it('loses only secrets and bars for any output, cuts and restarts', () => {
  fc.assert(
    fc.property(
      fc.array(outputPiece, { maxLength: 30 }).map(pieces => Buffer.concat(pieces)),
      fc.array(fc.tuple(fc.nat(4_000), fc.constantFrom<Wanted>('lines', 'bars'), fc.boolean()), {
        maxLength: 30,
      }),
      (output, steps) => {
        let text = createText();
        let readTo = 0;
        let sentTo = 0;
        let sent = '';
        for (const [bytes, wanted, isRestart] of steps) {
          text.push(output.subarray(readTo, readTo + bytes));
          readTo = Math.min(output.length, readTo + bytes);
          const chunk = text.take(wanted);
          if (chunk !== null) {
            sent += chunk.text;
            expect(chunk.to).toBeGreaterThanOrEqual(sentTo);
            sentTo = chunk.to;
          }
          if (!isRestart) continue;
          text = createText({
            offset: sentTo,
            before: output.subarray(Math.max(0, sentTo - 65_536), sentTo),
          });
          readTo = sentTo;
        }
        text.push(output.subarray(readTo));
        const rest = takeAll(text, 'all');
        sent += rest.text;
        expect(rest.to ?? sentTo).toBe(output.length);
        expect(terminalText(sent)).toBe(redact(terminalText(output.toString())));
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);
