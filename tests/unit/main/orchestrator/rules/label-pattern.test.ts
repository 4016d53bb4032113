import fc from 'fast-check';
import micromatch from 'micromatch';
import { describe, expect, it } from 'vitest';
import { run, compilePattern } from '../../../../../main/orchestrator/rules/label-pattern.ts';
import { LabelPatterns } from '../../../../../protocol/text.ts';

const matches = (pattern: string, value: string): boolean => run(compilePattern(pattern), value).accepted;

describe('compilePattern', () => {
  it.each([
    ['a100', 'a100'],
    ['a100*', 'a100-80gb'],
    ['a100*', 'a100'],
    ['*', ''],
    ['*', 'org/a100'],
    ['*', '.hidden'],
    ['*a100*', 'org/nvidia/a100/80'],
    ['*80gb', 'a100-80gb'],
    ['a?00', 'a100'],
    ['?', '🚂'],
    ['[ah]100', 'h100'],
    ['[!h]100', 'a100'],
    ['[^a]100', 'h100'],
    ['[🚂-🚅]', '🚄'],
    ['rtx[0-9]*', 'rtx4090'],
    ['[]a]', ']'],
    ['[a-]', '-'],
    ['[-a]', '-'],
    ['[*?{]', '*'],
    ['[\\]]', ']'],
    ['{a100,h100}', 'h100'],
    ['{a,b}{c,d}', 'bd'],
    ['{a,{b,c}d}e', 'cde'],
    ['a{1,}', 'a'],
    ['{rtx*,[ah]100}-80gb', 'h100-80gb'],
    ['{a\\,b,c}', 'a,b'],
    ['{a,b{c}', '{a,b{c}'],
    ['{a,{b,c}', '{a,c'],
    ['', ''],
  ])('matches pattern %j to value %j', (pattern, value) => {
    expect(matches(pattern, value)).toBe(true);
  });

  it.each([
    ['a100', 'a100-80gb'],
    ['a100*', 'A100-80gb'],
    ['*80gb', 'a100-80gb-sxm'],
    ['a?00', 'a00'],
    ['[ah]100', 'b100'],
    ['[!h]100', 'h100'],
    ['[!h]100', '100'],
    ['[^a]100', 'a100'],
    ['[z-a]', 'm'],
    ['a.c', 'abc'],
    ['a{2}', 'aa'],
    ['a{1..3}', 'a2'],
    ['{a,b}', '{a,b}'],
    ['a{1,}', 'aaa'],
    ['', 'a'],
  ])('does not match pattern %j to value %j', (pattern, value) => {
    expect(matches(pattern, value)).toBe(false);
  });

  it.each([
    'a{2}',
    '{dev}',
    '!a100',
    '!(a100)',
    '@(a|b)',
    '+(a)',
    '(a+)+b',
    'a|b',
    '^a$',
    '"a"',
    'a,b',
    '[',
    'a[b',
    '[]',
    '{',
    '}',
    '{a,b',
    'a}',
    'trailing\\',
  ])('matches the characters of the pattern %j literally', pattern => {
    expect(matches(pattern, pattern)).toBe(true);
  });

  it.each(['*', '?', '[a]', '{a,b}', '\\'])('matches %j literally when each character is escaped', text => {
    const escaped = Array.from(text, character => `\\${character}`).join('');
    expect(matches(escaped, text)).toBe(true);
    expect(matches(escaped, 'a')).toBe(false);
  });
});

// The tests below generate patterns as trees of nodes, and write each tree as text. They compare the compiled pattern
// with a simple recursive matcher over the tree.
type Node =
  | { readonly type: 'text' | 'any' | 'star'; readonly text: string }
  | { readonly type: 'set'; readonly not: boolean; readonly low: string; readonly high: string }
  | { readonly type: 'choice'; readonly options: readonly (readonly Node[])[] };

const letter = fc.constantFrom('a', 'b', 'c', '-', '/', '.');

const { sequence } = fc.letrec<{ node: Node; sequence: readonly Node[] }>(tie => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    letter.map((text): Node => ({ type: 'text', text })),
    fc.constant<Node>({ type: 'any', text: '?' }),
    fc.constant<Node>({ type: 'star', text: '*' }),
    fc
      .tuple(fc.boolean(), fc.constantFrom('a', 'b'), fc.constantFrom('b', 'c'))
      .map(([not, low, high]): Node => ({ type: 'set', not, low, high })),
    fc
      .array(tie('sequence'), { minLength: 2, maxLength: 3 })
      .map((options): Node => ({ type: 'choice', options })),
  ),
  sequence: fc.array(tie('node'), { maxLength: 5 }),
}));

const toPattern = (nodes: readonly Node[]): string =>
  nodes
    .map(node => {
      if (node.type === 'set') return `[${node.not ? '!' : ''}${node.low}-${node.high}]`;
      return node.type === 'choice' ? `{${node.options.map(toPattern).join(',')}}` : node.text;
    })
    .join('');

// Returns every position in `value` at which a match of all nodes can end.
const findEnds = (nodes: readonly Node[], value: string, from: number): ReadonlySet<number> => {
  const [node, ...rest] = nodes;
  if (node === undefined) return new Set([from]);
  const after = (at: number): readonly number[] => [...findEnds(rest, value, at)];
  if (node.type === 'choice')
    return new Set(node.options.flatMap(option => [...findEnds(option, value, from)].flatMap(after)));
  if (node.type === 'star')
    return new Set(Array.from({ length: value.length - from + 1 }, (_, skip) => from + skip).flatMap(after));
  const character = value.charAt(from);
  if (character === '') return new Set();
  if (node.type === 'set')
    return new Set((node.low <= character && character <= node.high) === node.not ? [] : after(from + 1));
  return new Set(node.type === 'any' || node.text === character ? after(from + 1) : []);
};

const anyValue = fc.array(letter, { maxLength: 6 }).map(letters => letters.join(''));

describe('matching compared with references', () => {
  it('matches the same values as a simple recursive matcher', () => {
    fc.assert(
      fc.property(sequence, anyValue, (nodes, text) => {
        expect(matches(toPattern(nodes), text)).toBe(findEnds(nodes, text, 0).has(text.length));
      }),
      { numRuns: 3_000 },
    );
  });

  it('matches the same values as micromatch for the syntax that both support', () => {
    const options = { bash: true, dot: true, noext: true, nonegate: true, posix: true } as const;
    const part = fc.constantFrom('a', 'b', 'a1', '*', '?', '[ab]', '[a-c]', '[!a]', '{a,b}', '{ab,c}');
    const pattern = fc.array(part, { minLength: 1, maxLength: 5 }).map(parts => parts.join(''));
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '1'), { minLength: 1, maxLength: 6 })
      .map(letters => letters.join(''));
    fc.assert(
      fc.property(pattern, text, (glob, candidate) => {
        expect(matches(glob, candidate)).toBe(micromatch.isMatch(candidate, glob, options));
      }),
      { numRuns: 3_000 },
    );
  });
});

// The automaton makes at most three transitions per character of the pattern for each character of the value.
const maxSteps = (pattern: string, text: string): number => 3 * (pattern.length + 1) * (text.length + 1);

describe('cost of matching', () => {
  const long = 'a'.repeat(64);

  it.each([
    `${'a{1,}'.repeat(7)}b`,
    `${'{1,}'.repeat(15)}b`,
    `${'{a,aa}'.repeat(10)}b`,
    `${'{,a}'.repeat(15)}b`,
    `${'{'.repeat(21)}a${',a}'.repeat(14)}`,
    `${'{a,'.repeat(16)}${'}'.repeat(16)}`,
    `${'*a'.repeat(31)}b`,
    '{*,*,*}{*,*,*}{*,*,*}{*,*,*}b',
    '[a-z]*[a-z]*[a-z]*b',
    '['.repeat(64),
    '\\'.repeat(64),
    '(a+)+b',
  ])('bounds the steps by the sizes of pattern %j and value', pattern => {
    expect(pattern.length).toBeLessThanOrEqual(64);
    expect(run(compilePattern(pattern), long).steps).toBeLessThanOrEqual(maxSteps(pattern, long));
  });

  it('bounds the steps for every pattern and value', () => {
    const special = fc.constantFrom(...'ab*?[]{}()+|!@^$.,/\\"\'-1'.split(''));
    const repeated = fc
      .tuple(fc.array(special, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 16 }))
      .map(([unit, times]) => unit.join('').repeat(times));
    const pattern = fc.oneof(
      fc.array(special, { maxLength: 64 }).map(parts => parts.join('')),
      repeated,
    );
    const text = fc.oneof(fc.constant(long), fc.string({ maxLength: 64 }));
    fc.assert(
      fc.property(pattern, text, (glob, candidate) => {
        const cut = glob.slice(0, 64);
        expect(run(compilePattern(cut), candidate).steps).toBeLessThanOrEqual(maxSteps(cut, candidate));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each(['*a*a*a*a*b', `${'*a'.repeat(31)}b`])(
    'refuses the expensive pattern %s in a submission',
    pattern => {
      expect(LabelPatterns.safeParse({ x: pattern }).success).toBe(false);
    },
  );
});
