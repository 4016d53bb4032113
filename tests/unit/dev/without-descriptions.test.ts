import { describe, expect, test } from 'vitest';
import { removeDescriptions, removeFunctions } from '../../../dev/without-descriptions.ts';

describe('removeDescriptions', () => {
  test.each([
    ["z.string().min(1).describe('The name.')", 'z.string().min(1)'],
    [
      'z.object({ a: z.number().describe(`At most ${max}.`) }).meta({ id: "A" })',
      'z.object({ a: z.number() })',
    ],
    ["z.array(z.string().describe('One.').optional()).describe('All.')", 'z.array(z.string().optional())'],
    ["call({ method: 'GET', summary: 'Read it', path: '/' })", "call({ method: 'GET',  path: '/' })"],
    ["call({ path: '/', summary: 'Read it' })", "call({ path: '/',  })"],
  ])('shortens %s to %s', (code, expected) => {
    expect(removeDescriptions(`const A = ${code};`)).toBe(`const A = ${expected};`);
  });

  test('keeps functions named describe, strings with such code, and summaries that are not strings', () => {
    const code =
      "const a = describe('x'); const b = 'z.string().describe(1)'; const c = { summary: z.string() };";
    expect(removeDescriptions(code)).toBe(code);
  });
});

test('removeFunctions replaces all exports of a module with an empty function', () => {
  const code =
    'export const a = () => 1;\nfunction b() {}\nexport { b as c };\nexport function d() { return a; }';
  expect(removeFunctions(code)).toBe(
    'const nothing = () => undefined;\nexport { nothing as a, nothing as d, nothing as c };\n',
  );
});
