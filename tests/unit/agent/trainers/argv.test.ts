import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillPlaceholders, splitCommand } from '../../../../agent/trainers/argv.ts';

describe('splitCommand on valid commands', () => {
  it.each([
    ['python train.py', ['python', 'train.py']],
    ['  python\t \ttrain.py  ', ['python', 'train.py']],
    ['\r\n\n python train.py \r\n\n', ['python', 'train.py']],
    ['python\n', ['python']],
    ["python -c 'print(1); $x | `y`'", ['python', '-c', 'print(1); $x | `y`']],
    ["'a\\b' 'c\"d'", ['a\\b', 'c"d']],
    ["'two\nlines'", ['two\nlines']],
    ['"a b"\'c d\'e\\ f', ['a bc de f']],
    ['run "" \'\' x', ['run', '', '', 'x']],
    ['"a\\"b" "c\\\\d" "e\\$f" "g\\`h"', ['a"b', 'c\\d', 'e$f', 'g`h']],
    ['"a\\nb" "two\\\nlines"', ['a\\nb', 'twolines']],
    ['"^x$" "$ 5" "$"', ['^x$', '$ 5', '$']],
    ['grep a\\|b \\$HOME \\# \\\\', ['grep', 'a|b', '$HOME', '#', '\\']],
    ['python \\\n  train.py --x=\\\n1', ['python', 'train.py', '--x=1']],
    ['python \\\n', ['python']],
    ['a*b ?c [d] {e,f} g=~h i#j !', ['a*b', '?c', '[d]', '{e,f}', 'g=~h', 'i#j', '!']],
    ['train {config_path} --out={output_dir}', ['train', '{config_path}', '--out={output_dir}']],
    ['train A=1', ['train', 'A=1']],
    ['über 日本 🚂', ['über', '日本', '🚂']],
  ])('splits the command %j', (command, argv) => {
    expect(splitCommand(command)).toEqual({ ok: true, argv });
  });
});

describe('splitCommand on invalid commands', () => {
  it.each([
    ['', 'empty'],
    [' \t\r\n ', 'empty'],
    ['\\\n', 'empty'],
    ["'' x", 'names no program'],
    ["echo 'a", 'single quote (character 6) that is never closed'],
    ['echo "a', 'double quote (character 6) that is never closed'],
    ['echo "a\\', 'double quote (character 6) that is never closed'],
    ['echo a\\', 'backslash'],
    ['a\0b', 'NUL'],
    ['CUDA_VISIBLE_DEVICES=0 python x.py', 'start with "env CUDA_VISIBLE_DEVICES=0" instead'],
  ])('rejects the command %j: %s', (command, message) => {
    expect(splitCommand(command)).toEqual({ ok: false, message: expect.stringContaining(message) });
  });

  it.each([
    ['python x.py | tee log', '"|"'],
    ['a && b', '"&"'],
    ['a; b', '";"'],
    ['a > log', '">"'],
    ['a < in', '"<"'],
    ['(a)', '"("'],
    ['a)', '")"'],
    ['a $HOME', '"$"'],
    ['a `b`', '"`"'],
    ['a # rest', '"#"'],
    ['a ~/x', '"~"'],
    ['a "$HOME/x"', '"$" inside double quotes'],
    ['a "${x}"', '"$" inside double quotes'],
    ['a "`b`"', '"`" inside double quotes'],
    ['a\nb', 'a line break'],
    ['a x\r\nb', 'a line break'],
  ])('rejects the command %j, because it needs a shell', (command, syntax) => {
    const result = splitCommand(command);
    expect(result).toEqual({ ok: false, message: expect.stringContaining(syntax) });
    expect(result).toEqual({ ok: false, message: expect.stringContaining('no shell is used') });
  });
});

describe('splitCommand on any text', () => {
  const word = fc.string({ unit: 'grapheme' }).filter(text => !text.includes('\0'));

  it('returns any single-quoted words unchanged', () => {
    const singleQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
    fc.assert(
      fc.property(fc.array(word), words => {
        const argv = ['run', ...words];
        expect(splitCommand(argv.map(singleQuoted).join(' '))).toEqual({ ok: true, argv });
      }),
    );
  });

  it('returns an argv or a message for any text', () => {
    const hostile = fc.string({
      unit: fc.constantFrom('a', ' ', '\n', '\r', '\\', "'", '"', '$', '`', '|', '#', '\0'),
    });
    fc.assert(
      fc.property(hostile, text => {
        const result = splitCommand(text);
        expect(result.ok ? result.argv.length : result.message.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('fillPlaceholders', () => {
  const values = { config_path: '/work/my jobs/{output_dir}/c.json', output_dir: '/out', resume_from: '' };

  it.each([
    ['{config_path}', '/work/my jobs/{output_dir}/c.json'],
    ['--out={output_dir}/x:{output_dir}', '--out=/out/x:/out'],
    ['{resume_from}', ''],
    ['{{output_dir}}', '{/out}'],
    ['{unknown} {constructor} {__proto__}', '{unknown} {constructor} {__proto__}'],
    ['{output_dir {output-dir} {OUTPUT_DIR} {}', '{output_dir {output-dir} {OUTPUT_DIR} {}'],
  ])('fills the placeholders of %s: %s', (argument, expected) => {
    expect(fillPlaceholders(['train', argument], values)).toEqual(['train', expected]);
  });

  it('inserts values with replacement patterns such as $& literally', () => {
    expect(fillPlaceholders(['{output_dir}'], { output_dir: "$& $1 $'" })).toEqual(["$& $1 $'"]);
  });
});
