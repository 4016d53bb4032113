import { describe, expect, test } from 'vitest';
import {
  inputFields,
  isResumable,
  isSafeInConfig,
  namesIn,
  OfferedInputs,
  readInputFile,
  withInputPaths,
} from '../../../protocol/job-inputs.ts';

describe('readInputFile', () => {
  test.each([
    ['result', { kind: 'result' }],
    [' checkpoint  best ', { kind: 'checkpoint', which: 'best' }],
    ['checkpoint newest', { kind: 'checkpoint', which: 'newest' }],
    ['checkpoint 500', { kind: 'checkpoint', which: 'step', step: 500 }],
    ['state best', { kind: 'checkpoint', which: 'best', continues: true }],
    ['state 500', { kind: 'checkpoint', which: 'step', step: 500, continues: true }],
    ['state', { kind: 'path', path: 'state' }],
    ['checkpoint run/checkpoint-500/', { kind: 'path', path: 'run/checkpoint-500' }],
    ['checkpoint', { kind: 'path', path: 'checkpoint' }],
    ['././result', { kind: 'path', path: 'result' }],
    ['..', null],
    ['a/../b', null],
    ['/a', null],
    ['C:\\a', null],
    ['', null],
  ])('reads the file "%s" of an input', (text, expected) => expect(readInputFile(text)).toEqual(expected));
});

test.each([
  ['{{inputs.base}}', true],
  ['{{ inputs.base }}/checkpoint-500', true],
  ['/home/ada/{{inputs.base}}', false],
  ['{{inputs.}}', false],
  [true, false],
])('decides whether %j can be the value of $resume: %s', (value, expected) =>
  expect(isResumable(value)).toBe(expected),
);

describe('placeholders of inputs', () => {
  const config = {
    a: '{{inputs.lora}}',
    b: [1, null, { c: 'x/{{ inputs.vae }}/y {{inputs.lora}}' }],
    d: true,
  };

  test('finds each placeholder in a config once, at any depth', () => {
    expect(namesIn(config)).toEqual(['lora', 'vae']);
    expect(namesIn(undefined)).toEqual([]);
    expect(namesIn({ a: '{{inputs.}} {inputs.x} {{input.y}}' })).toEqual(['']);
  });

  test('replaces placeholders by paths, and keeps a placeholder that such a path contains', () => {
    const paths = new Map([
      ['lora', '/jobs/{{inputs.vae}}'],
      ['other', '/x'],
    ]);
    expect(withInputPaths(config, paths)).toEqual({
      a: '/jobs/{{inputs.vae}}',
      b: [1, null, { c: 'x/{{ inputs.vae }}/y /jobs/{{inputs.vae}}' }],
      d: true,
    });
    expect(withInputPaths(config, new Map())).toBe(config);
  });

  test('finds placeholders in linear time', () => {
    const text = `{{inputs.${' '.repeat(200_000)}`.repeat(3);
    expect(namesIn({ text })).toEqual([]);
  });
});

test.each([
  ['lora.safetensors', true],
  ['a $HOME', false],
  ['{env}', false],
])(
  'decides whether the path %s is safe in a config, where a trainer can expand variables: %s',
  (path, expected) => expect(isSafeInConfig(path)).toBe(expected),
);

describe('an offered input', () => {
  const file = (path: string) => ({ path, bytes: 1, sha256: 'a'.repeat(64) });
  const accepts = (path: string, ...files: readonly string[]): boolean =>
    OfferedInputs.safeParse([{ name: 'lora', path, files: files.map(file) }]).success;

  test.each([
    [['lora.bin', 'lora.bin'], true],
    [['run', 'run/a', 'run/b/c'], true],
    [['run', 'running'], false],
    [['run', 'run/../../x'], false],
    [['../run', '../run/a'], false],
    [['/run', '/run/a'], false],
    [['run', 'run/a', 'run/a'], false],
    [['run'], false],
    [['a${x}', 'a${x}/b'], false],
  ])(
    'decides whether an offered input with the path and files %j is valid: %s',
    ([path = '', ...files], expected) => expect(accepts(path, ...files)).toBe(expected),
  );
});

test('uses the file "result" of an input by default, and refuses two inputs with the same name', () => {
  const input = { name: 'lora', from: 'j_1' };
  expect(inputFields.inputs.parse([input])).toEqual([{ ...input, file: 'result' }]);
  expect(inputFields.inputs.safeParse([input, input]).success).toBe(false);
});
