// See docs/internals/semantics.md, sections 6 and 7. Jobs with equal requirements have the same shape. Workers with equal
// offerings have the same class.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  classOf,
  compileMatcher,
  type Mismatch,
  shapeOf,
} from '../../../../../main/orchestrator/rules/matching.ts';
import { makeNeeds, makeOffering } from '../builders.ts';
import { LabelPatterns } from '../../../../../protocol/text.ts';

const findMismatches = (
  needs: Parameters<typeof makeNeeds>[0],
  offering: Parameters<typeof makeOffering>[0] = {},
): readonly Mismatch[] => compileMatcher(makeNeeds(needs))(makeOffering(offering));

const matchesLabel = (pattern: string, value: string): boolean =>
  findMismatches({ labels: { x: pattern } }, { labels: { x: value } }).length === 0;

describe('matching a label pattern', () => {
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
  ])('matches pattern %s against label value %j: %j', (pattern, value, fits) => {
    expect(matchesLabel(pattern, value)).toBe(fits);
  });

  test('matches an empty pattern only to an empty label', () => {
    expect(matchesLabel('', '')).toBe(true);
    expect(findMismatches({ labels: { x: '' } })).toHaveLength(1);
  });

  test('matches every valid label pattern to itself, and never throws', () => {
    const special = 'ab*?[]{}()+|!@^$.,/\\"\'-'.split('');
    const piece = fc.oneof(fc.constantFrom(...special), fc.string({ maxLength: 2 }));
    const pattern = fc.array(piece, { maxLength: 20 }).map(pieces => pieces.join('').slice(0, 64));
    fc.assert(
      fc.property(pattern, fc.string({ maxLength: 20 }), (text, other) => {
        fc.pre(LabelPatterns.safeParse({ x: text }).success);
        expect(matchesLabel(text, text)).toBe(true);
        expect(typeof matchesLabel(text, other)).toBe('boolean');
      }),
      { numRuns: 300 },
    );
  });
});

describe('matching a worker', () => {
  test('matches a worker that offers more than required', () => {
    const offering = { gpuCount: 8, labels: { gpu: 'a100-80gb', team: 'nlp', rack: '4' } };
    expect(findMismatches({ gpuCount: 4, labels: { gpu: 'a100*', team: 'nlp' } }, offering)).toEqual([]);
    expect(findMismatches({ gpuCount: 8 }, offering)).toEqual([]);
    expect(findMismatches({})).toEqual([]);
  });

  test('returns gpu_limit for a job that uses more GPUs than the limit of the local machine', () => {
    const offering = { gpuCount: 4, gpuLimit: 1 };
    expect(findMismatches({ gpuCount: 1 }, offering)).toEqual([]);
    expect(findMismatches({ gpuCount: 2 }, offering)).toEqual([
      { code: 'gpu_limit', wanted: '2', offered: '1' },
    ]);
    expect(findMismatches({ gpuCount: 1, gpusUsed: 2 }, offering)).toEqual([
      { code: 'gpu_limit', wanted: '2', offered: '1' },
    ]);
  });

  test('requires exactly as many machines as the worker has', () => {
    expect(findMismatches({ nodes: 2 }, { nodes: 2 })).toEqual([]);
    expect(findMismatches({ nodes: 2 })).toEqual([{ code: 'nodes', wanted: '2', offered: '1' }]);
    expect(findMismatches({}, { nodes: 2 })).toEqual([{ code: 'nodes', wanted: '1', offered: '2' }]);
    expect(shapeOf(makeNeeds({ nodes: 2 }))).not.toBe(shapeOf(makeNeeds()));
    expect(shapeOf(makeNeeds({ nodes: 1 }))).toBe(shapeOf(makeNeeds()));
    expect(classOf(makeOffering({ nodes: 2 }))).not.toBe(classOf(makeOffering()));
  });

  test('requires every label and returns every mismatch', () => {
    const needs = { gpuCount: 2, labels: { gpu: 'a100*', team: 'nlp', rack: '4' } };
    expect(findMismatches(needs, { gpuCount: 1, labels: { gpu: 'h100', team: 'nlp' } })).toEqual([
      { code: 'gpu_count', wanted: '2', offered: '1' },
      { code: 'label', wanted: 'gpu=a100*', offered: 'h100' },
      { code: 'label', wanted: 'rack=4', offered: 'none' },
    ]);
  });

  test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])(
    'finds no label that only exists on Object.prototype: %s',
    name => {
      const labels = Object.fromEntries([[name, '*']]);
      expect(findMismatches({ labels })).toEqual([{ code: 'label', wanted: `${name}=*`, offered: 'none' }]);
      expect(findMismatches({ labels }, { labels: Object.fromEntries([[name, 'x']]) })).toEqual([]);
    },
  );
});

describe('matching a target', () => {
  test.each([
    ['auto', true, []],
    ['auto', false, []],
    ['local', true, []],
    ['worker', false, []],
    ['local', false, [{ code: 'target', wanted: 'this machine', offered: 'a remote worker' }]],
    ['worker', true, [{ code: 'target', wanted: 'a remote worker', offered: 'this machine' }]],
  ] as const)('matches target %s against a worker whose field `local` is %j', (target, local, expected) => {
    expect(findMismatches({ target }, { local })).toEqual(expected);
  });

  test('returns a target mismatch before all other mismatches', () => {
    const codes = findMismatches({ target: 'local', gpuCount: 2 }).map(({ code }) => code);
    expect(codes).toEqual(['target', 'gpu_count']);
  });

  test('puts local and remote workers with equal offerings into different classes', () => {
    expect(classOf(makeOffering({ local: true }))).not.toBe(classOf(makeOffering()));
  });
});

describe('shapeOf', () => {
  const needs = makeNeeds({ gpuCount: 2, labels: { a: '1', b: '2' } });

  test('returns the same shape for equal needs in any order', () => {
    expect(shapeOf(makeNeeds({ gpuCount: 2, labels: { b: '2', a: '1' } }))).toBe(shapeOf(needs));
  });

  test.each([
    makeNeeds({ gpuCount: 3, labels: needs.labels }),
    makeNeeds({ gpuCount: 2, labels: { a: '1' } }),
    makeNeeds({ gpuCount: 2, labels: { a: '2', b: '1' } }),
    makeNeeds({ gpuCount: 2, labels: { a: '1,b=2' } }),
    { ...needs, target: 'worker' as const },
  ])('returns a different shape for the needs %o', other => {
    expect(shapeOf(other)).not.toBe(shapeOf(needs));
  });
});

describe('matching GPUs and agents', () => {
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
  ])('matches %d GB of nominal memory against a card with %d GiB: %j', (vramGb, offeredGb, fits) => {
    const expected = fits ? [] : [{ code: 'vram', wanted: `${vramGb} GB`, offered: `${offeredGb} GB` }];
    expect(findMismatches({ vramGb }, { vramGb: offeredGb })).toEqual(expected);
  });

  test('requires the accelerator of the job, if the job names an accelerator', () => {
    expect(findMismatches({ accelerator: 'cuda' }, { accelerator: 'cuda' })).toEqual([]);
    expect(findMismatches({}, { accelerator: 'mps' })).toEqual([]);
    expect(findMismatches({ accelerator: 'cuda' }, { accelerator: 'rocm' })).toEqual([
      { code: 'accelerator', wanted: 'cuda', offered: 'rocm' },
    ]);
    expect(findMismatches({ accelerator: 'cuda' })).toEqual([
      { code: 'accelerator', wanted: 'cuda', offered: 'none' },
    ]);
  });

  test('requires an agent that stops trainers without contact, and an agent that allows the config keys', () => {
    expect(findMismatches({ guarded: true }, { guarded: true })).toEqual([]);
    expect(findMismatches({ configKeys: ['output_dir'] }, { configKeys: ['output_dir', 'env'] })).toEqual([]);
    expect(findMismatches({ configKeys: ['env', 'output_dir'] }, { configKeys: ['output_dir'] })).toEqual([
      { code: 'config_key', wanted: 'env', offered: 'not allowed' },
    ]);
    expect(findMismatches({ guarded: true }, { guarded: false })).toEqual([
      { code: 'guard', wanted: 'a worker that stops without contact', offered: 'none' },
    ]);
  });

  test.each([
    ['no required trainer', undefined, ['kohya'], []],
    ['a required trainer that the rig has', 'kohya', ['simpletuner', 'kohya'], []],
    ['a required trainer and a rig with unknown trainers', 'kohya', null, []],
    ['a required trainer and a rig that runs any config', 'kohya', ['command', 'any'], []],
    ['a required trainer that the rig lacks', 'kohya', ['simpletuner', 'command'], ['simpletuner, command']],
    ['a required trainer and a rig without trainers', 'kohya', [], ['none']],
  ])('compares the trainers for %s', (_case, trainer, trainers, offered) => {
    const mismatches = offered.map(text => ({ code: 'trainer', wanted: 'kohya', offered: text }));
    expect(findMismatches(trainer === undefined ? {} : { trainer }, { trainers })).toEqual(mismatches);
  });

  test('requires an agent that fetches data, if the job has data', () => {
    expect(findMismatches({}, { fetchesData: false })).toEqual([]);
    expect(findMismatches({ data: ['cats'] }, { fetchesData: true })).toEqual([]);
    expect(findMismatches({ data: ['cats'] }, { fetchesData: false })).toEqual([
      { code: 'data', wanted: 'a worker that fetches data', offered: 'none' },
    ]);
  });

  test('requires an agent that fetches files of other jobs, if the job has inputs', () => {
    expect(findMismatches({}, { fetchesInputs: false })).toEqual([]);
    expect(findMismatches({ inputs: true }, { fetchesInputs: true })).toEqual([]);
    expect(findMismatches({ inputs: true }, { fetchesInputs: false })).toEqual([
      { code: 'inputs', wanted: 'a worker that fetches files of other jobs', offered: 'none' },
    ]);
  });

  test('requires no permission for an output folder that the worker replaces', () => {
    const needs = { trainer: 'simpletuner', configKeys: ['env', 'output_dir'] };
    const notAllowed = (wanted: string) => [{ code: 'config_key', wanted, offered: 'not allowed' }];
    const replacing = { trainers: ['simpletuner', 'any'], replacesOutputs: true };
    expect(findMismatches(needs, replacing)).toEqual(notAllowed('env'));
    expect(findMismatches({ ...needs, trainer: 'kohya' }, replacing)).toEqual(notAllowed('env, output_dir'));
    expect(findMismatches(needs, { ...replacing, replacesOutputs: false })).toEqual(
      notAllowed('env, output_dir'),
    );
    expect(findMismatches({ configKeys: ['output_dir'] }, replacing)).toEqual(notAllowed('output_dir'));
    const newerTrainer = { trainers: ['of a newer version'], replacesOutputs: true };
    expect(findMismatches({ ...needs, trainer: 'of a newer version' }, newerTrainer)).toEqual(
      notAllowed('env, output_dir'),
    );
  });

  test('includes memory and accelerator in shapes and classes', () => {
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
