import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLogText, type LogTextOptions, type Wanted } from '../../../../agent/logs/log-text.ts';
import { redact } from '../../../../agent/logs/redact.ts';
import { terminalText } from '../../../support/log-book.ts';

const ownLine = '[trainyard: this goes on]';
const limit = 4_096;
const begin = (parts: Partial<LogTextOptions> = {}) =>
  createLogText({ offset: 0, before: new Uint8Array(), limit, known: () => [], ownLine, ...parts });

/** Takes all chunks and returns their texts as one. */
function shipped(text: ReturnType<typeof begin>, what: Wanted) {
  const chunks = [];
  for (let taken = text.take(what); taken !== null; taken = text.take(what)) chunks.push(taken);
  return { text: chunks.map(chunk => chunk.text).join(''), to: chunks.at(-1)?.to ?? null, chunks };
}

function fed(output: string | Uint8Array, what: Wanted, parts: Partial<LogTextOptions> = {}) {
  const text = begin(parts);
  text.push(Buffer.from(output));
  return shipped(text, what);
}

describe('folding of output', () => {
  it.each([
    ['lines unchanged', 'a\nb\n\nc\n', 'a\nb\n\nc\n', 7],
    ['no unfinished line', 'a\nb', 'a\n', 2],
    ['CRLF as one line end', 'a\r\nb\r\r\n', 'a\nb\n', 7],
    ['only the newest bar, before the next line', '\r1%\r2%\r3%\rdone\n', '3%\rdone\n', 15],
    ['no bars alone', 'a\n1%\r2%\r', 'a\n', 2],
    ['the last state of an erased bar', '9%\r   \rline\n', '9%\rline\n', 12],
    ['nothing for carriage returns', '\r\r\rline\n', 'line\n', 8],
  ])('sends %s', (_what, output, text, to) => {
    expect(fed(output, 'lines')).toMatchObject({ text, to });
  });

  it.each([
    ['the newest bar', 'a\n1%\r2%\r3%\r', 'a\n3%', 10],
    ['an unfinished bar in place', 'a\n1%\r2%| [2s]', 'a\n2%| [2s]', 13],
    ['an unfinished line', 'Loading ... ', 'Loading ... ', 12],
    ['no partial character', Buffer.from('ü€').subarray(0, 4), 'ü', 2],
  ])('sends when bars are due: %s', (_what, output, text, to) => {
    expect(fed(output, 'bars')).toMatchObject({ text, to });
  });

  it('closes a bar that was sent unfinished', () => {
    const text = begin();
    text.push(Buffer.from('1% [1s]'));
    expect(text.take('bars')).toEqual({ text: '1% [1s]', to: 7 });
    text.push(Buffer.from('\r2%\r3%\r'));
    expect(text.take('lines')).toBeNull();
    text.push(Buffer.from('end\n'));
    expect(text.take('lines')).toEqual({ text: '\r3%\rend\n', to: 18 });
    expect(text.take('all')).toBeNull();
  });

  it('sends everything at the end, and replaces invalid UTF-8 by U+FFFD', () => {
    const text = begin();
    text.push(Buffer.from([0x61, 0xff, 0x0a, 0x62, 0xe2, 0x82, 0x0d]));
    expect(text.isEmpty()).toBe(false);
    expect(text.take('all')).toEqual({ text: 'a\ufffd\nb\ufffd\r', to: 7 });
    expect(text.isEmpty()).toBe(true);
    expect(text.take('all')).toBeNull();
  });

  it('bounds a run of carriage returns', () => {
    expect(fed('\r'.repeat(100_000), 'bars').to).toBeGreaterThan(98_000);
  });

  it("omits the guard's own line, also inside another line", () => {
    expect(fed(`a\n${ownLine}\nb\n`, 'lines')).toMatchObject({ text: 'a\nb\n' });
    expect(fed(`a${ownLine}\nb\n`, 'lines')).toMatchObject({ text: 'ab\n', to: 29 });
  });
});

describe('chunks', () => {
  it('ends chunks at line ends', () => {
    const { chunks, text } = fed(`${'x'.repeat(600)}\n`.repeat(20), 'lines');
    expect(text).toBe(`${'x'.repeat(600)}\n`.repeat(20));
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) {
      expect(chunk.text.length).toBeLessThanOrEqual(limit);
      expect(chunk.text.endsWith('\n')).toBe(true);
    }
  });

  it('cuts a long line at spaces, or between characters', () => {
    const words = 'lorem ipsum '.repeat(5_000);
    const cut = fed(words, 'lines');
    for (const { to } of cut.chunks) expect(words[to - 1]).toBe(' ');
    const signs = '€'.repeat(20_000);
    const whole = fed(signs, 'all');
    expect(whole.text).toBe(signs);
    expect(whole.chunks.length).toBeGreaterThan(3);
  });

  const secret = `hf_${'aB3'.repeat(12)}`;
  it.each([secret, `PASSWORD="${'word '.repeat(40)}"`, `Authorization: Bearer ${'x1'.repeat(40)}`])(
    'redacts %s wherever a chunk is cut',
    words => {
      for (let at = 950; at < 1_080; at += 1) {
        const { text } = fed(`${'x'.repeat(at)} ${words} ${'y'.repeat(20_000)}\n`, 'lines');
        expect(text).toBe(redact(`${'x'.repeat(at)} ${words} ${'y'.repeat(20_000)}\n`));
      }
    },
  );

  it.each([secret, 'AKIAIOSFODNN7EXAMPLE', `sk-${'aB3'.repeat(12)}`])(
    'sends no partial secret of %s',
    words => {
      for (let at = 0; at < words.length; at += 1) {
        const text = begin();
        text.push(Buffer.from(`so ${words.slice(0, at)}`));
        const first = text.take('bars');
        text.push(Buffer.from(`${words.slice(at)}\n`));
        expect((first?.text ?? '') + (text.take('lines')?.text ?? '')).toBe('so [redacted]\n');
      }
    },
  );

  it('sends no partial secret of an unfinished line', () => {
    for (const words of [
      secret,
      'MY_PASSWORD=abc def',
      `https://me:secret@host`,
      'wandb login 3f9ac07be1d2458690ab3f9ac07be1d2458690ab',
      'known-value',
    ])
      for (let at = 0; at < words.length; at += 1) {
        const text = begin({ known: () => ['known-value'] });
        text.push(Buffer.from(`so: ${words.slice(0, at)}`));
        const first = text.take('bars');
        text.push(Buffer.from(`${words.slice(at)}\n`));
        const all = (first?.text ?? '') + (text.take('lines')?.text ?? '');
        const wanted = redact(`so: ${words}\n`, ['known-value']);
        // Up to three characters before a redacted secret may be missing, because they could be the start of a secret.
        expect(all.replace(/\S{0,3}\[redacted\]/g, '[redacted]')).toBe(
          wanted.replace(/\S{0,3}\[redacted\]/g, '[redacted]'),
        );
      }
  });
});

describe('resumed reading', () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${'aB3d'.repeat(16)}\n`.repeat(5)}-----END RSA PRIVATE KEY-----\n`;
  const output = `start\nAuthorization: Bearer abc12345 and more\n${key}9%\r10%\rend\n`;

  it('continues anywhere as if it had not been cut', () => {
    const whole = fed(output, 'lines').text;
    const bytes = Buffer.from(output);
    const first = begin();
    for (let at = 0; at < bytes.length; at += 1) {
      first.push(bytes.subarray(at, at + 1));
      const one = begin();
      one.push(bytes.subarray(0, at + 1));
      const { text, to } = shipped(one, 'lines');
      const place = to ?? 0;
      const next = begin({ offset: place, before: bytes.subarray(0, place) });
      next.push(bytes.subarray(place));
      expect(text + shipped(next, 'lines').text).toBe(whole);
    }
    expect(whole).toBe('start\nAuthorization: Bearer [redacted] and more\n[redacted]\n10%\rend\n');
  });
});

const phrase = fc.oneof(
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
const word = fc.oneof(
  { weight: 8, arbitrary: phrase.map(words => Buffer.from(words)) },
  fc.uint8Array({ maxLength: 20 }),
);

it('loses only secrets and bars for any output, cuts and restarts', () => {
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 30 }).map(words => Buffer.concat(words)),
      fc.array(fc.tuple(fc.nat(4_000), fc.constantFrom<Wanted>('lines', 'bars'), fc.boolean()), {
        maxLength: 30,
      }),
      (output, acts) => {
        let text = begin();
        let at = 0;
        let to = 0;
        let all = '';
        for (const [bytes, what, isNew] of acts) {
          text.push(output.subarray(at, at + bytes));
          at = Math.min(output.length, at + bytes);
          const taken = text.take(what);
          if (taken !== null) {
            all += taken.text;
            expect(taken.to).toBeGreaterThanOrEqual(to);
            ({ to } = taken);
          }
          if (!isNew) continue;
          text = begin({ offset: to, before: output.subarray(Math.max(0, to - 65_536), to) });
          at = to;
        }
        text.push(output.subarray(at));
        const rest = shipped(text, 'all');
        all += rest.text;
        expect(rest.to ?? to).toBe(output.length);
        expect(terminalText(all)).toBe(redact(terminalText(output.toString())));
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);
