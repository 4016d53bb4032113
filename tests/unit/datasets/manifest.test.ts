import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkManifest,
  createManifestReader,
  type DatasetFile,
  manifestText,
  parseManifest,
} from '../../../protocol/dataset.ts';

const file = (path: string, bytes = 3): DatasetFile => ({ path, bytes, sha256: 'a'.repeat(64) });
/** Returns the reason why a manifest with these paths is refused; null for a valid manifest. */
const reasonFor = (...paths: readonly string[]): string | null => {
  const checked = checkManifest(paths.map(path => file(path)));
  return checked.ok ? null : checked.reason;
};

describe('checkManifest', () => {
  test.each([
    'a.png',
    'cats/a (1) [x].png',
    'Ünïcode/写真.jpg',
    'a: what?.txt',
    '.hidden/x',
    `${'d/'.repeat(63)}x`,
    'x'.repeat(255),
  ])('accepts the path %j', path => {
    expect(reasonFor(path)).toBeNull();
  });

  test.each([
    ['', 'empty name'],
    ['/etc/passwd', 'empty name'],
    ['a//b', 'empty name'],
    ['a/', 'empty name'],
    ['../x', 'the name ..'],
    ['a/../../x', 'the name ..'],
    ['./x', 'the name .'],
    ['C:\\x', 'backslash'],
    ['a\u0000b', 'control character'],
    ['a\nb', 'control character'],
    ['a\ud800', 'invalid character'],
    ['ü'.repeat(128), 'longer than 255 bytes'],
    [`${'d/'.repeat(64)}x`, 'more than 64 levels'],
    ['x/'.repeat(1_100), 'longer than 2048 characters'],
  ])('refuses the path %j: %s', (path, reason) => {
    expect(reasonFor(path)).toContain(reason);
  });

  test.each([
    [['a.png', 'a.png'], 'occurs twice'],
    [['a.png', 'A.PNG'], 'ignore case'],
    [['e\u0301.png', '\u00e9.png'], 'ignore case'],
    [['Cats/a.png', 'cats/b.png'], 'ignore case'],
    [['a', 'a/b'], 'occurs twice'],
    [['straße', 'STRASSE'], 'ignore case'],
  ])('refuses the paths %j together: %s', (paths, reason) => {
    expect(reasonFor(...paths)).toContain(reason);
  });

  test('accepts shared folders at any depth', () => {
    expect(reasonFor('a/b/c', 'a/b/d', 'a/e', 'f')).toBeNull();
  });

  test('accepts at most 500,000 files', () => {
    const many = Array.from({ length: 500_001 }, (_, n) => `${n}`);
    const checked = checkManifest(many.map(path => file(path)));
    expect(checked).toEqual({
      ok: false,
      reason: expect.stringContaining('more than 500000 files') as unknown,
    });
    expect(checkManifest(many.slice(1).map(path => file(path))).ok).toBe(true);
  });

  test('refuses a manifest without files', () => {
    expect(reasonFor()).toBe('The dataset has no files');
  });
});

describe('manifestText and parseManifest', () => {
  const text = manifestText([file('a.png'), file('b/c.txt', 0)]);

  test('writes the same text for files in any order, and parses this text', () => {
    const checked = checkManifest([file('b/c.txt', 0), file('a.png')]);
    expect(checked.ok && manifestText(checked.files)).toBe(text);
    expect(parseManifest(text)).toEqual({ ok: true, files: [file('a.png'), file('b/c.txt', 0)] });
  });

  test('parses a manifest that arrives character by character', () => {
    const reader = createManifestReader();
    for (const character of text) reader.push(character);
    expect(reader.end()).toEqual(parseManifest(text));
  });

  test('reports only the first invalid line', () => {
    const reader = createManifestReader();
    reader.push(`no JSON\n${text}`);
    reader.push(text);
    const reason = 'Line 1 of the manifest does not describe a file';
    expect(reader.end()).toEqual({ ok: false, reason });
  });

  test('refuses a manifest with a line that is too long', () => {
    const reader = createManifestReader();
    for (let n = 0; n < 100; n += 1) reader.push('x'.repeat(1_000));
    expect(reader.end()).toEqual({ ok: false, reason: 'A line of the manifest is too long' });
  });

  test.each([
    ['a truncated text', text.slice(0, -1)],
    ['another order', text.split('\n').slice(0, 2).toReversed().join('\n').concat('\n')],
    ['blanks between fields', text.replaceAll(',', ', ')],
    ['an unknown key', text.replace('"bytes"', '"mode":1,"bytes"')],
    ['a line that is not JSON', 'x\n'],
    ['a negative size', text.replace(':3,', ':-3,')],
    ['a hash in capitals', text.replace('aaaa', 'AAAA')],
    ['a path outside the folder', text.replace('a.png', '../a.png')],
    ['no files', ''],
  ])('refuses a manifest with %s', (_title, invalidText) => {
    expect(parseManifest(invalidText).ok).toBe(false);
  });

  test('parses each text that manifestText returns, and never throws for any other text', () => {
    const paths = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 12 }), { maxLength: 6 });
    fc.assert(
      fc.property(paths, fc.nat(), (names, bytes) => {
        const checked = checkManifest(names.map(name => file(name, bytes)));
        if (!checked.ok) return;
        expect(parseManifest(manifestText(checked.files))).toEqual(checked);
      }),
    );
    fc.assert(fc.property(fc.string(), anyText => void parseManifest(anyText)));
  });
});
