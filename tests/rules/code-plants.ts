import type { Plant } from './plant.ts';

const globals = 'eslint(no-restricted-globals)';
const properties = 'eslint(no-restricted-properties)';

/**
 * Expressions that use global state such as the clock, each with a room that forbids the expression. A room is a folder
 * with import rules in oxlint.config.ts.
 */
const ambient: readonly (readonly [room: string, expression: string, rule: string, message: string])[] = [
  ['main/orchestrator/rules', 'Date.now()', globals, "Unexpected use of 'Date'"],
  ['main/orchestrator/rules', 'new Date()', globals, "Unexpected use of 'Date'"],
  ['main/orchestrator/rules', 'globalThis.Date.now()', globals, "Unexpected use of 'Date'"],
  ['main/orchestrator/rules', 'Math.random()', properties, 'Math.random'],
  ['main/orchestrator/rules', 'setTimeout(() => {}, 1)', globals, "'setTimeout'"],
  ['main/orchestrator/rules', 'setInterval(() => {}, 1)', globals, "'setInterval'"],
  ['main/orchestrator/rules', 'setImmediate(() => {})', globals, "'setImmediate'"],
  ['main/orchestrator/rules', 'AbortSignal.timeout(1)', properties, 'AbortSignal.timeout'],
  ['main/orchestrator/rules', 'process.pid', globals, "'process'"],
  ['main/orchestrator/rules', 'performance.now()', globals, "'performance'"],
  ['main/orchestrator/rules', 'crypto.randomUUID()', globals, "'crypto'"],
  ['main/orchestrator/rules', "fetch('http://localhost')", globals, "'fetch'"],
  ['main/orchestrator/rules', 'console.log(1)', globals, "'console'"],
  ['main/orchestrator/rules', 'globalThis.console', globals, "'console'"],
  ...['Temporal', 'Buffer', 'queueMicrotask', 'WebSocket', 'EventSource', 'XMLHttpRequest'].map(
    name => ['main/orchestrator/rules', `typeof ${name}`, globals, `'${name}'`] as const,
  ),
  ['protocol', 'Date.now()', globals, "'Date'"],
  ['protocol', 'Math.random()', properties, 'Math.random'],
  ['protocol', 'setTimeout(() => {}, 1)', globals, "'setTimeout'"],
  ['protocol', 'process.pid', globals, "'process'"],
  ['protocol', 'performance.now()', globals, "'performance'"],
  ['protocol', 'crypto.randomUUID()', globals, "'crypto'"],
  ['protocol', 'console.log(1)', 'eslint(no-console)', 'Unexpected console statement'],
  ['main/orchestrator/rules', 'console.log(1)', 'eslint(no-console)', 'Unexpected console statement'],
  ['main/store', 'console.log(1)', 'eslint(no-console)', 'Unexpected console statement'],
  ['main/http', 'console.log(1)', 'eslint(no-console)', 'Unexpected console statement'],
  ['main/audit', 'console.log(1)', 'eslint(no-console)', 'Unexpected console statement'],
  ['main/http', 'process.env', properties, 'process.env'],
  ['main/store', "process['env']", properties, 'process.env'],
  ['main/desktop', 'process.argv', properties, 'process.argv'],
  ['agent', 'process.env', properties, 'process.env'],
  ['agent', 'globalThis.process.env', properties, 'globalThis.process'],
  ['preload', 'process.env', properties, 'process.env'],
];

const ambientPlants = ambient.map(
  ([room, expression, rule, message], index): Plant => ({
    name: `${room} uses ${expression} (${rule})`,
    file: `${room}/ambient-${index + 1}.ts`,
    code: `export const ambient = (): unknown => ${expression};`,
    rules: [rule, ...(expression.includes('console') ? [globals, 'eslint(no-console)'] : [])],
    message,
  }),
);

const otherViolations: readonly Plant[] = [
  {
    name: 'process.env read by destructuring process',
    file: 'main/http/taken-apart.ts',
    code: 'export const { env } = process;',
    rules: [properties],
    message: 'process.env',
  },
  {
    name: 'an import of node:process, which gives access to process.env',
    file: 'main/http/process-module.ts',
    code: "export { env } from 'node:process';",
    rules: ['eslint(no-restricted-imports)'],
    message: 'node:process',
  },
  {
    name: 'process.argv in an entry that gets its configuration from main/config.ts',
    file: 'main/server.ts',
    code: 'export const words = process.argv;',
    rules: [properties],
    message: 'process.argv',
  },
  {
    name: 'a focused test, which would skip all other tests',
    file: 'tests/unit/focused.test.ts',
    code: "import { expect, it } from 'vitest';\nit.only('is alone', () => {\n  expect(1).toBe(1);\n});",
    rules: ['vitest(no-focused-tests)'],
    message: 'focused test',
  },
  {
    name: 'an image without alternative text',
    file: 'renderer/ui/image.tsx',
    code: 'export const Picture = (): unknown => <img src="fleet.svg" />;',
    rules: ['jsx-a11y(alt-text)'],
    message: 'alt',
  },
  {
    name: 'a default export',
    file: 'main/store/default-export.ts',
    code: 'export default 1;',
    rules: ['import(no-default-export)'],
    message: 'Prefer named exports',
  },
];

const size: readonly Plant[] = [
  {
    name: 'a file of 501 lines',
    file: 'agent/long-file.ts',
    code: `export const long = 1;\n${'// a comment is a line, too\n'.repeat(499)}`,
    rules: ['eslint(max-lines)'],
    message: '(501)',
  },
  {
    name: 'a test file of 501 lines',
    file: 'tests/unit/long-file.ts',
    code: `export const long = 1;\n${'\n'.repeat(499)}`,
    rules: ['eslint(max-lines)'],
    message: '(501)',
  },
  {
    name: 'a function of 81 lines',
    file: 'main/store/long-function.ts',
    code: longFunction(81),
    rules: ['eslint(max-lines-per-function)'],
    message: '(81)',
  },
  {
    name: 'an arrow function of 81 lines',
    file: 'examples/digits/long-arrow.ts',
    code: longFunction(81).replace('function count(): number {', 'const count = (): number => {'),
    rules: ['eslint(max-lines-per-function)'],
    message: '(81)',
  },
];

/** Returns a function with this number of lines, including its first and last line. */
export function longFunction(lines: number): string {
  return `export function count(): number {\n  let sum = 0;\n${'  sum += 1;\n'.repeat(lines - 4)}  return sum;\n}\n`;
}

const later = 'declare function later(): Promise<number>;';

/**
 * Mistakes within one file. Most of their rules need types. A report of such a rule also proves that tsgolint, the part of
 * oxlint that knows types, has run.
 */
const mistakes: readonly (readonly [rule: string, message: string, code: string])[] = [
  ['typescript(no-explicit-any)', 'Unexpected `any`', 'export const open = (value: any): unknown => value;'],
  ['typescript(no-floating-promises)', 'must be awaited', `${later} export function go(): void { later(); }`],
  [
    'typescript(no-misused-promises)',
    'Promise',
    `${later} export const on = (): void => { [1].forEach(later); };`,
  ],
  [
    'typescript(await-thenable)',
    'await',
    'export async function wait(a: number): Promise<void> { await a; }',
  ],
  [
    'typescript(switch-exhaustiveness-check)',
    'not exhaustive',
    "export function step(way: 'up' | 'down'): void { switch (way) { case 'up': process.exitCode = 1; } }",
  ],
  [
    'typescript(switch-exhaustiveness-check)',
    'not exhaustive',
    "export function step(way: 'up' | 'down'): number { switch (way) { case 'up': return 1; default: return 0; } }",
  ],
  ['typescript(no-unsafe-assignment)', 'any', "export const parsed: { a: number } = JSON.parse('{}');"],
  ['typescript(no-unsafe-return)', 'any', "export const parse = (): number => JSON.parse('1');"],
  ['typescript(no-unsafe-member-access)', 'any', "export const part: unknown = JSON.parse('{}').part;"],
  ['typescript(no-unsafe-call)', 'any', "export const called: unknown = JSON.parse('1')();"],
  ['typescript(no-unsafe-argument)', 'any', "export const square = Math.abs(JSON.parse('1'));"],
  [
    'typescript(no-unsafe-type-assertion)',
    'Unsafe',
    'export const force = (a: unknown): string => a as string;',
  ],
  [
    'typescript(no-unnecessary-type-assertion)',
    'unnecessary',
    'export const same = (a: string) => a as string;',
  ],
  ['typescript(no-non-null-assertion)', 'non-null', 'export const first = (a: string[]): string => a[0]!;'],
  ['typescript(only-throw-error)', 'an error object', "export function fail(): never { throw 'a string'; }"],
  [
    'eslint(preserve-caught-error)',
    'cause',
    'export function go(run: () => void): void { try { run(); } catch (e) { throw new Error(String(e)); } }',
  ],
  ['eslint(no-empty)', 'empty', 'export function go(run: () => void): void { try { run(); } catch {} }'],
  ['eslint(eqeqeq)', '===', 'export const same = (a: unknown, b: unknown): boolean => a == b;'],
  ['eslint(prefer-const)', 'never reassigned', 'let start = 1; export const next = start;'],
  ['eslint(no-param-reassign)', 'parameter', 'export function grow(a: number): number { a += 1; return a; }'],
  [
    'typescript(consistent-type-imports)',
    'type',
    "import { agentLeafKind } from './leaf.ts'; export type Copy = agentLeafKind;",
  ],
];

const mistakePlants = mistakes.map(
  ([rule, message, code], index): Plant => ({
    name: `${rule}, sample ${index + 1}`,
    file: `agent/mistake-${index + 1}.ts`,
    code,
    rules: [rule],
    message,
  }),
);

/** Split in two, because tests/rules/exemptions.test.ts searches this file for the directive. */
const disable = ['oxlint', 'disable'].join('-');

const suppressions: readonly Plant[] = [
  {
    name: 'a directive that disables all rules',
    file: 'agent/all-off.ts',
    code: `/* ${disable} */\nexport default 1;`,
    rules: ['unicorn(no-abusive-eslint-disable)'],
    message: 'does not specify any rules',
  },
  {
    name: 'a directive with nothing to suppress',
    file: 'agent/nothing-off.ts',
    code: `// ${disable}-next-line no-console\nexport const quiet = 1;`,
    rules: ['no rule'],
    message: 'Unused oxlint-disable directive',
  },
  {
    name: 'a violation after an eslint directive, which oxlint must ignore',
    file: 'agent/other-tool.ts',
    code: '// eslint-disable-next-line import/no-default-export\nexport default 1;',
    rules: ['import(no-default-export)'],
    message: 'Prefer named exports',
  },
  {
    name: '@ts-nocheck',
    file: 'agent/unchecked.ts',
    code: '// @ts-nocheck\nexport const quiet = 1;',
    rules: ['typescript(ban-ts-comment)'],
    message: '@ts-nocheck',
  },
];

export const codePlants: readonly Plant[] = [
  ...ambientPlants,
  ...otherViolations,
  ...size,
  ...mistakePlants,
  ...suppressions,
];
