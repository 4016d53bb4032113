import { describe, expect, test } from 'vitest';
import { piecesOf, plainText } from '../../../../../../renderer/pages/jobs/logs/line-text.ts';
import { logLine } from '../../../log-builders.ts';
import {
  firstError,
  looksLikeError,
  type SearchLines,
} from '../../../../../../renderer/pages/jobs/logs/find-line.ts';

const esc = '\u001B';
/** Formats each piece of a line as `text/colour`, followed by its weights and `hit`. */
const shown = (line: string, search = ''): readonly string[] =>
  piecesOf(line, search).map(({ text, hue, weights, isHit }) =>
    [text, hue ?? '-', ...weights, ...(isHit ? ['hit'] : [])].join('/'),
  );

describe('terminal output', () => {
  test('keeps a colour and a weight until a reset', () => {
    expect(shown(`a${esc}[31mb${esc}[1mc${esc}[22md${esc}[0me`)).toEqual([
      'a/-',
      'b/red',
      'c/red/bold',
      'd/red',
      'e/-',
    ]);
  });

  test.each([
    ['[32m', 'green'],
    ['[93m', 'yellow'],
    ['[34m', 'blue'],
    ['[35m', 'magenta'],
    ['[36m', 'cyan'],
    ['[90m', 'grey'],
    ['[38;5;196m', 'red'],
    ['[38;5;46m', 'green'],
    ['[38;2;255;140;0m', 'yellow'],
    ['[38;2;20;20;220m', 'blue'],
    // Black is unreadable in the dark theme, and white in the light theme.
    ['[30m', '-'],
    ['[97m', '-'],
    // White text would be unreadable, so the text gets the background colour.
    ['[97;41m', 'red'],
  ])('gives text after the sequence %s the colour %s', (code, hue) => {
    expect(shown(`${esc}${code}x`)).toEqual([`x/${hue}`]);
  });

  test.each([
    ['cursor movements', `a${esc}[2Kb${esc}[1;1Hc${esc}[?25ld`],
    ['window titles', `a${esc}]0;evil\u0007b${esc}]2;evil${esc}\\cd`],
    ['hyperlinks', `a${esc}]8;;http://evil${esc}\\b${esc}]8;;${esc}\\cd`],
    ['other string sequences', `a${esc}Pevil${esc}\\b${esc}_evil${esc}\\cd`],
    ['other control characters', `a\u0000b\u0008\u007Fc\u0085d`],
    ['single-byte sequences', `a\u009B31mb${esc}(Bc${esc}7d`],
    ['overwritten text', `first\rsecond\rabcd`],
    ['a progress bar to be overwritten', `abcd\r`],
  ])('omits %s from the plain text', (_title, line) => {
    expect(plainText(line)).toBe('abcd');
  });

  test('keeps the rest of a line after an unterminated string sequence', () => {
    expect(plainText(`a${esc}]0;title of a window`)).toBe('a0;title of a window');
    expect(plainText(`a${esc}`)).toBe('a');
  });

  test('shows markup as text, and bidirectional overrides as code points', () => {
    expect(shown('<img src=x onerror=alert(1)> &lt;')).toEqual(['<img src=x onerror=alert(1)> &lt;/-']);
    expect(plainText('user\u202Egnp.exe\u2066')).toBe('user⟨U+202E⟩gnp.exe⟨U+2066⟩');
    expect(plainText('שלום 世界\tok')).toBe('שלום 世界\tok');
  });
});

describe('search hits', () => {
  test('finds search hits regardless of case, even across colours', () => {
    expect(shown(`Loss ${esc}[31mlo${esc}[0mss`, 'loss')).toEqual([
      'Loss/-/hit',
      ' /-',
      'lo/red/hit',
      'ss/-/hit',
    ]);
  });

  test('finds search hits by plain text, not by a pattern', () => {
    expect(shown('a.b axb [1-2] a\\d', 'a.b')[0]).toBe('a.b/-/hit');
    expect(shown('axb', 'a.b')).toEqual(['axb/-']);
    for (const text of ['[1-2]', 'a\\d', '(', '*', '{2}', '^$|/'])
      expect(piecesOf(`x ${text} y`, text).filter(({ isHit }) => isHit)).toMatchObject([{ text, start: 2 }]);
  });

  test('returns the right position of a search hit when the lower-case text is longer', () => {
    expect(shown('İİ x', 'x')).toEqual(['İİ /-', 'x/-/hit']);
  });
});

test.each([
  ['Traceback (most recent call last):', true],
  ['ValueError: bad rank', true],
  ['torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB', true],
  ['RuntimeError', true],
  ['2026-11-22 08:00:00 [ERROR] could not load', true],
  ['train.py:41: error: unknown option', true],
  ['error: unknown option', true],
  ['Killed', true],
  ['thread main panicked at src/main.rs', true],
  ['mean error: 0.31, loss 0.1', false],
  ['0 errors, 3 warnings', false],
  ['loading ErrorCallback', false],
  ['no exception was raised', false],
  ['on_error=continue', false],
  ['skilled workers', false],
])('looksLikeError(%j) is %s', (text, isError) => {
  expect(looksLikeError(text)).toBe(isError);
});

describe('the first error', () => {
  /** Searches like the server, with at most two matches per call. */
  const searchIn =
    (texts: ReadonlyMap<number, string>, searches: string[] = []): SearchLines =>
    async (word, from) => {
      searches.push(`${word} ${from}`);
      const all = [...texts]
        .filter(([line, text]) => line >= from && text.toLowerCase().includes(word))
        .map(([line, text]) => logLine(line, text));
      return { matches: all.slice(0, 2), isAll: all.length <= 2 };
    };
  const plain = ({ text }: { readonly text: string }): string => text;

  test('returns the earliest error line, whichever search word found it', async () => {
    const texts = new Map([
      [7, 'mean error: 1'],
      [8, 'mean error: 2'],
      [9, 'mean error: 3'],
      [40, 'ValueError: x'],
      [35, 'Traceback (most recent call last):'],
      [90, 'Killed'],
    ]);
    expect(await firstError(searchIn(texts), plain)).toBe(35);
  });

  test('ends the search for a word at the earliest error found so far', async () => {
    const searches: string[] = [];
    const texts = new Map(Array.from({ length: 100 }, (_, at) => [at + 5, 'mean error: 0.1']));
    texts.set(6, 'Traceback (most recent call last):');
    expect(await firstError(searchIn(texts, searches), plain)).toBe(6);
    expect(searches.filter(each => each.startsWith('error'))).toEqual(['error 0']);
  });

  test('returns null when no line is an error, and ignores notes that Trainyard added to the log', async () => {
    expect(await firstError(searchIn(new Map([[3, '0 errors']])), plain)).toBeNull();
    const searchNote: SearchLines = async () => ({
      matches: [{ ...logLine(1, 'Error: 12 bytes'), note: 'lost' }],
      isAll: true,
    });
    expect(await firstError(searchNote, plain)).toBeNull();
  });

  test('returns "unread" when the log could not be searched', async () => {
    expect(await firstError(async () => null, plain)).toBe('unread');
  });
});
