/** Whether a worker matches a job, and if not, why: docs/internals/semantics.md, sections 6 and 7. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  classOf,
  compileMatcher,
  type Mismatch,
  shapeOf,
} from '../../../../../main/orchestrator/rules/matching.ts';
import { LabelPatterns } from '../../../../../protocol/labels.ts';
import { makeNeeds, makeOffering } from '../builders.ts';

const misses = (
  needs: Parameters<typeof makeNeeds>[0],
  offering: Parameters<typeof makeOffering>[0] = {},
): readonly Mismatch[] => compileMatcher(makeNeeds(needs))(makeOffering(offering));

const globs = (pattern: string, value: string): boolean =>
  misses({ labels: { x: pattern } }, { labels: { x: value } }).length === 0;

describe('a pattern', () => {
  test.each([
    ['a100*', 'a100-80gb', true],
    ['[!h]100', 'h100', false],
    ['{a100,h100}', 'h100', true],
    ['*', '', true],
    ['*(laptop)', 'rtx4090 (laptop)', true],
    ['NVIDIA (R) *', 'NVIDIA (R) RTX', true],
    ['c++*', 'c++17', true],
    ['{dev}*', '{dev}-1', true],
    ['\\(*', '(laptop)', true],
  ])('%s against the label %j: %j', (pattern, value, fits) => {
    expect(globs(pattern, value)).toBe(fits);
  });

  test('that is empty is like an empty label only', () => {
    expect(globs('', '')).toBe(true);
    expect(misses({ labels: { x: '' } })).toHaveLength(1);
  });

  test('never throws, and is always like itself, whatever it is made of', () => {
    const special = 'ab*?[]{}()+|!@^$.,/\\"\'-'.split('');
    const piece = fc.oneof(fc.constantFrom(...special), fc.string({ maxLength: 2 }));
    const pattern = fc.array(piece, { maxLength: 20 }).map(pieces => pieces.join('').slice(0, 64));
    fc.assert(
      fc.property(pattern, fc.string({ maxLength: 20 }), (text, other) => {
        fc.pre(LabelPatterns.safeParse({ x: text }).success);
        expect(globs(text, text)).toBe(true);
        expect(typeof globs(text, other)).toBe('boolean');
      }),
      { numRuns: 300 },
    );
  });
});

describe('a worker', () => {
  test('that offers more than is asked fits', () => {
    const offering = { gpuCount: 8, labels: { gpu: 'a100-80gb', team: 'nlp', rack: '4' } };
    expect(misses({ gpuCount: 4, labels: { gpu: 'a100*', team: 'nlp' } }, offering)).toEqual([]);
    expect(misses({ gpuCount: 8 }, offering)).toEqual([]);
    expect(misses({})).toEqual([]);
  });

  test('on the machine of the orchestrator has a limit of GPUs', () => {
    const offering = { gpuCount: 4, gpuLimit: 1 };
    expect(misses({ gpuCount: 1 }, offering)).toEqual([]);
    expect(misses({ gpuCount: 2 }, offering)).toEqual([{ code: 'gpu_limit', wanted: '2', there: '1' }]);
    expect(misses({ gpuCount: 1, gpusUsed: 2 }, offering)).toEqual([
      { code: 'gpu_limit', wanted: '2', there: '1' },
    ]);
  });

  test('has to match all labels, and every reason against it is told', () => {
    const needs = { gpuCount: 2, labels: { gpu: 'a100*', team: 'nlp', rack: '4' } };
    expect(misses(needs, { gpuCount: 1, labels: { gpu: 'h100', team: 'nlp' } })).toEqual([
      { code: 'gpu_count', wanted: '2', there: '1' },
      { code: 'label', wanted: 'gpu=a100*', there: 'h100' },
      { code: 'label', wanted: 'rack=4', there: 'none' },
    ]);
  });

  test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])(
    'has no label by accident: %s',
    name => {
      const labels = Object.fromEntries([[name, '*']]);
      expect(misses({ labels })).toEqual([{ code: 'label', wanted: `${name}=*`, there: 'none' }]);
      expect(misses({ labels }, { labels: Object.fromEntries([[name, 'x']]) })).toEqual([]);
    },
  );
});

describe('a target', () => {
  test.each([
    ['auto', true, []],
    ['auto', false, []],
    ['local', true, []],
    ['worker', false, []],
    ['local', false, [{ code: 'target', wanted: 'this machine', there: 'a remote worker' }]],
    ['worker', true, [{ code: 'target', wanted: 'a remote worker', there: 'this machine' }]],
  ] as const)('%s, where a worker is local: %j', (target, local, expected) => {
    expect(misses({ target }, { local })).toEqual(expected);
  });

  test('is the first reason of several', () => {
    const codes = misses({ target: 'local', gpuCount: 2 }).map(({ code }) => code);
    expect(codes).toEqual(['target', 'gpu_count']);
  });

  test('keeps workers of the same make apart', () => {
    expect(classOf(makeOffering({ local: true }))).not.toBe(classOf(makeOffering()));
  });
});

describe('a shape', () => {
  const needs = makeNeeds({ gpuCount: 2, labels: { a: '1', b: '2' } });

  test('is the same for the same needs, in whatever order they are written', () => {
    expect(shapeOf(makeNeeds({ gpuCount: 2, labels: { b: '2', a: '1' } }))).toBe(shapeOf(needs));
  });

  test.each([
    makeNeeds({ gpuCount: 3, labels: needs.labels }),
    makeNeeds({ gpuCount: 2, labels: { a: '1' } }),
    makeNeeds({ gpuCount: 2, labels: { a: '2', b: '1' } }),
    makeNeeds({ gpuCount: 2, labels: { a: '1,b=2' } }),
    { ...needs, target: 'worker' as const },
  ])('differs from that of %o', other => {
    expect(shapeOf(other)).not.toBe(shapeOf(needs));
  });
});

describe('the GPUs themselves', () => {
  test.each([
    [24, 23.99, true],
    [24, 22.5, true],
    [16, 15, true],
    [80, 79.25, true],
    [40, 39.4, true],
    [24, 21.9, false],
    [24, 16, false],
    [0, 0, true],
    [1, 0, false],
  ])('%d GB as they are sold, against a card that shows %d GiB: %j', (vramGb, there, fits) => {
    const expected = fits ? [] : [{ code: 'vram', wanted: `${vramGb} GB`, there: `${there} GB` }];
    expect(misses({ vramGb }, { vramGb: there })).toEqual(expected);
  });

  test('are of the kind that is asked for, if any is', () => {
    expect(misses({ accelerator: 'cuda' }, { accelerator: 'cuda' })).toEqual([]);
    expect(misses({}, { accelerator: 'mps' })).toEqual([]);
    expect(misses({ accelerator: 'cuda' }, { accelerator: 'rocm' })).toEqual([
      { code: 'accelerator', wanted: 'cuda', there: 'rocm' },
    ]);
    expect(misses({ accelerator: 'cuda' })).toEqual([{ code: 'accelerator', wanted: 'cuda', there: 'none' }]);
  });

  test('are looked after by an agent that stops them, if the job has to be stopped without contact', () => {
    expect(misses({ guarded: true }, { guarded: true })).toEqual([]);
    expect(misses({ configKeys: ['output_dir'] }, { configKeys: ['output_dir', 'env'] })).toEqual([]);
    expect(misses({ configKeys: ['env', 'output_dir'] }, { configKeys: ['output_dir'] })).toEqual([
      { code: 'config_key', wanted: 'env', there: 'not allowed' },
    ]);
    expect(misses({ guarded: true }, { guarded: false })).toEqual([
      { code: 'guard', wanted: 'a worker that stops without contact', there: 'none' },
    ]);
  });

  test.each([
    ['any trainer', undefined, ['kohya'], []],
    ['its trainer', 'kohya', ['simpletuner', 'kohya'], []],
    ['its trainer, where nothing is known of the rig', 'kohya', null, []],
    ['its trainer, where a program takes every config', 'kohya', ['command', 'any'], []],
    ['its trainer, which the rig lacks', 'kohya', ['simpletuner', 'command'], ['simpletuner, command']],
    ['its trainer, where there is none', 'kohya', [], ['none']],
  ])('have %s', (_what, trainer, trainers, there) => {
    const missed = there.map(each => ({ code: 'trainer', wanted: 'kohya', there: each }));
    expect(misses(trainer === undefined ? {} : { trainer }, { trainers })).toEqual(missed);
  });

  test('fetch data, if the job has any', () => {
    expect(misses({}, { fetchesData: false })).toEqual([]);
    expect(misses({ data: ['cats'] }, { fetchesData: true })).toEqual([]);
    expect(misses({ data: ['cats'] }, { fetchesData: false })).toEqual([
      { code: 'data', wanted: 'a worker that fetches data', there: 'none' },
    ]);
  });

  test('need no permission for an output folder that the worker replaces', () => {
    const needs = { trainer: 'simpletuner', configKeys: ['env', 'output_dir'] };
    const refused = (wanted: string) => [{ code: 'config_key', wanted, there: 'not allowed' }];
    const own = { trainers: ['simpletuner', 'any'], replacesOutputs: true };
    expect(misses(needs, own)).toEqual(refused('env'));
    expect(misses({ ...needs, trainer: 'kohya' }, own)).toEqual(refused('env, output_dir'));
    expect(misses(needs, { ...own, replacesOutputs: false })).toEqual(refused('env, output_dir'));
    expect(misses({ configKeys: ['output_dir'] }, own)).toEqual(refused('output_dir'));
    const unknown = { trainers: ['of a newer version'], replacesOutputs: true };
    expect(misses({ ...needs, trainer: 'of a newer version' }, unknown)).toEqual(refused('env, output_dir'));
  });

  test('make shapes and classes of their own', () => {
    const shapes = [{}, { vramGb: 24 }, { accelerator: 'cuda' }].map(changes => shapeOf(makeNeeds(changes)));
    const classes = [{}, { vramGb: 24 }, { accelerator: 'cuda' }].map(changes =>
      classOf(makeOffering(changes)),
    );
    expect([new Set(shapes).size, new Set(classes).size]).toEqual([3, 3]);
    expect(classOf(makeOffering({ labels: { a: '1', b: '2' } }))).toBe(
      classOf(makeOffering({ labels: { b: '2', a: '1' } })),
    );
  });
});
