import { describe, expect, test } from 'vitest';
import { CommandEnd } from '../../../../main/cli/failure.ts';
import { printEvent, printOne, printRows } from '../../../../main/cli/output.ts';
import { cutLine, factLines, plainLines, tableLines } from '../../../../main/cli/table.ts';

interface Rig {
  readonly name: string;
  readonly n: number;
}

const columns = [
  { title: 'NAME', text: ({ name }: Rig) => name },
  { title: 'N', text: ({ n }: Rig) => String(n) },
];
const rows = [
  { name: '学習機', n: 1, gpu: { name: 'A100', list: [1, 2] } },
  { name: 'rig', n: 20, gpu: null },
];

function printer(flags: Readonly<Record<string, unknown>>, columnsOfScreen: number | null = null) {
  const output = { out: '', err: '' };
  const screen = () => (columnsOfScreen === null ? null : { columns: columnsOfScreen, rows: 10 });
  return {
    output,
    flags,
    terminal: {
      out: (text: string) => void (output.out += text),
      err: (text: string) => void (output.err += text),
      outScreen: screen,
      errScreen: screen,
      ask: null,
      stdin: null,
    },
  };
}

describe('tables', () => {
  test('aligns columns by their width on the screen, not by characters', () => {
    expect(tableLines(rows, columns, null)).toEqual(['NAME    N', '学習機  1', 'rig     20']);
  });

  test('cuts lines only at the width of a screen', () => {
    const to = printer({}, 8);
    printRows(to, { answer: {}, rows, columns, none: '' });
    expect(to.output.out).toBe('NAME   …\n学習機 …\nrig    …\n');
    expect(cutLine('学習機', 4)).toBe('学…');
    expect(cutLine('x'.repeat(500), null)).toHaveLength(500);
  });

  const wide = [
    { title: 'ID', text: () => 'j_1' },
    { title: 'USER', text: () => 'someone', importance: 2 },
    { title: 'TRY', text: () => '1/3', importance: 1 },
    { title: 'DETAILS', text: ({ name }: Rig) => (name === 'rig' ? '' : 'out of memory'), minWidth: 6 },
  ];

  test('keeps all columns when they fit', () => {
    const lines = ['ID   USER     TRY  DETAILS', 'j_1  someone  1/3  out of memory', 'j_1  someone  1/3'];
    for (const width of [null, 32]) expect(tableLines(rows, wide, width)).toEqual(lines);
  });

  test('truncates long texts first, and marks only rows that lost text', () => {
    expect(tableLines(rows, wide, 26)).toEqual([
      'ID   USER     TRY  DETAILS',
      'j_1  someone  1/3  out of…',
      'j_1  someone  1/3',
    ]);
  });

  test('drops the least important columns in narrow terminals', () => {
    expect(tableLines(rows, wide, 20)).toEqual([
      'ID   USER     DETAI…',
      'j_1  someone  out o…',
      'j_1  someone',
    ]);
    expect(tableLines(rows, wide, 12)).toEqual(['ID   DETAILS', 'j_1  out of…', 'j_1']);
    expect(tableLines(rows, wide, 8)).toEqual(['ID   DE…', 'j_1  ou…', 'j_1']);
  });

  test('tells columns whether the table is for a terminal', () => {
    const timeColumn = [
      { title: 'AT', text: (_: Rig, isScreen: boolean) => (isScreen ? '3 min ago' : 'ISO') },
    ];
    expect(tableLines(rows.slice(0, 1), timeColumn, 80)).toEqual(['AT', '3 min ago']);
    expect(tableLines(rows.slice(0, 1), timeColumn, null)).toEqual(['AT', 'ISO']);
  });

  test('removes characters that move the cursor or change the text direction', () => {
    const evil = [{ name: '\u001b[2Jrig\u202egnp.exe\r\nADMIN\u009b1m', n: 1 }];
    expect(tableLines(evil, columns, null)[1]).toBe('[2Jrig gnp.exe ADMIN 1m  1');
    expect(plainLines('one\u001b[1m\r\ntwo\u0007')).toEqual(['one [1m', 'two']);
  });

  test('prints a message for an empty table only to stderr', () => {
    const to = printer({});
    printRows(to, { answer: {}, rows: [], columns, none: 'There is none: make one' });
    expect(to.output).toEqual({ out: '', err: 'There is none: make one\n' });
  });
});

test('aligns facts, omits empty ones, and keeps lines of longer texts', () => {
  expect(
    factLines([
      ['Id', 'j_1'],
      ['Message', 'first\nsecond'],
      ['Worker', null],
    ]),
  ).toEqual(['Id       j_1', 'Message  first', '         second']);
});

describe('machine-readable output', () => {
  test('prints the whole answer with --json, without terminal control characters', () => {
    const to = printer({ json: true });
    const answer = { name: 'rig\u009b2J\u001b', n: 1 };
    printOne(to, { answer, facts: [] });
    expect(JSON.parse(to.output.out)).toEqual(answer);
    expect(to.output.out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test('prints fields and nested fields separated by tabs with -o', () => {
    const to = printer({ output: ['name', 'gpu.name', 'gpu.list', 'gpu.list.1'] });
    printRows(to, { answer: {}, rows, columns, none: '' });
    expect(to.output).toEqual({ out: '学習機\tA100\t[1,2]\t2\nrig\t\t\t\n', err: '' });
  });

  test('prints a field with tabs or line breaks on one line', () => {
    const to = printer({ output: ['a', 'b'] });
    printOne(to, { answer: { a: 'x\ty\nz', b: 2 }, facts: [] });
    expect(to.output.out).toBe('x y z\t2\n');
  });

  test('reports an unknown field with the known ones after the output', () => {
    const to = printer({ output: ['nmae', 'n'] });
    let failure: unknown = null;
    try {
      printRows(to, { answer: {}, rows, columns, none: '' });
    } catch (cause) {
      failure = cause instanceof CommandEnd ? cause.failure : cause;
    }
    expect(failure).toEqual({ code: 2, message: 'Unknown field nmae. Known fields: name, n, gpu' });
    expect(to.output).toEqual({ out: '\t1\n\t20\n', err: '' });
  });

  test('treats inherited properties as unknown fields', () => {
    const to = printer({ output: ['constructor.name'] });
    expect(() => printOne(to, { answer: { a: 1 }, facts: [] })).toThrow('Unknown field constructor.name');
    expect(to.output.out).toBe('\n');
  });

  test.each([
    [{}, 'a b\n'],
    [{ json: true }, '{"seq":1,"kind":"job"}\n'],
    [{ output: ['seq'] }, '1\n'],
  ])('prints an event on one line with %j', (flags, line) => {
    const to = printer(flags);
    printEvent(to, { seq: 1, kind: 'job' }, 'a\nb');
    expect(to.output.out).toBe(line);
  });
});
