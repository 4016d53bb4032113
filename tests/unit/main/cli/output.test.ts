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

/** Creates an output that records printed texts. `screenColumns` is the width of the terminal, or null for a pipe. */
function createOutput(flags: Readonly<Record<string, unknown>>, screenColumns: number | null = null) {
  const printed = { out: '', err: '' };
  const screen = () => (screenColumns === null ? null : { columns: screenColumns, rows: 10 });
  return {
    printed,
    flags,
    terminal: {
      out: (text: string) => void (printed.out += text),
      err: (text: string) => void (printed.err += text),
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

  test('truncates lines to the width of a terminal, and never in a pipe', () => {
    const output = createOutput({}, 8);
    printRows(output, { answer: {}, rows, columns, none: '' });
    expect(output.printed.out).toBe('NAME   …\n学習機 …\nrig    …\n');
    expect(cutLine('学習機', 4)).toBe('学…');
    expect(cutLine('x'.repeat(500), null)).toHaveLength(500);
  });

  const wideColumns = [
    { title: 'ID', text: () => 'j_1' },
    { title: 'USER', text: () => 'someone', importance: 2 },
    { title: 'TRY', text: () => '1/3', importance: 1 },
    { title: 'DETAILS', text: ({ name }: Rig) => (name === 'rig' ? '' : 'out of memory'), minWidth: 6 },
  ];

  test('keeps all table columns when they fit into the terminal', () => {
    const lines = ['ID   USER     TRY  DETAILS', 'j_1  someone  1/3  out of memory', 'j_1  someone  1/3'];
    for (const width of [null, 32]) expect(tableLines(rows, wideColumns, width)).toEqual(lines);
  });

  test('truncates long texts before it drops columns, and marks only truncated rows', () => {
    expect(tableLines(rows, wideColumns, 26)).toEqual([
      'ID   USER     TRY  DETAILS',
      'j_1  someone  1/3  out of…',
      'j_1  someone  1/3',
    ]);
  });

  test('drops the least important columns in narrow terminals', () => {
    expect(tableLines(rows, wideColumns, 20)).toEqual([
      'ID   USER     DETAI…',
      'j_1  someone  out o…',
      'j_1  someone',
    ]);
    expect(tableLines(rows, wideColumns, 12)).toEqual(['ID   DETAILS', 'j_1  out of…', 'j_1']);
    expect(tableLines(rows, wideColumns, 8)).toEqual(['ID   DE…', 'j_1  ou…', 'j_1']);
  });

  test('passes to each column whether the table is printed to a terminal', () => {
    const timeColumn = [
      { title: 'AT', text: (_: Rig, isScreen: boolean) => (isScreen ? '3 min ago' : 'ISO') },
    ];
    expect(tableLines(rows.slice(0, 1), timeColumn, 80)).toEqual(['AT', '3 min ago']);
    expect(tableLines(rows.slice(0, 1), timeColumn, null)).toEqual(['AT', 'ISO']);
  });

  test('removes characters that move the cursor or change the text direction', () => {
    const maliciousRows = [{ name: '\u001b[2Jrig\u202egnp.exe\r\nADMIN\u009b1m', n: 1 }];
    expect(tableLines(maliciousRows, columns, null)[1]).toBe('[2Jrig gnp.exe ADMIN 1m  1');
    expect(plainLines('one\u001b[1m\r\ntwo\u0007')).toEqual(['one [1m', 'two']);
  });

  test('prints a message for an empty table only to stderr', () => {
    const output = createOutput({});
    printRows(output, { answer: {}, rows: [], columns, none: 'There are no rigs yet' });
    expect(output.printed).toEqual({ out: '', err: 'There are no rigs yet\n' });
  });
});

test('aligns facts, omits facts without a value, and keeps the line breaks of a fact', () => {
  expect(
    factLines([
      ['Id', 'j_1'],
      ['Message', 'first\nsecond'],
      ['Worker', null],
    ]),
  ).toEqual(['Id       j_1', 'Message  first', '         second']);
});

describe('machine-readable output', () => {
  test('prints the whole response with --json, without terminal control characters', () => {
    const output = createOutput({ json: true });
    const answer = { name: 'rig\u009b2J\u001b', n: 1 };
    printOne(output, { answer, facts: [] });
    expect(JSON.parse(output.printed.out)).toEqual(answer);
    expect(output.printed.out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test('prints fields and nested fields separated by tabs with -o', () => {
    const output = createOutput({ output: ['name', 'gpu.name', 'gpu.list', 'gpu.list.1'] });
    printRows(output, { answer: {}, rows, columns, none: '' });
    expect(output.printed).toEqual({ out: '学習機\tA100\t[1,2]\t2\nrig\t\t\t\n', err: '' });
  });

  test('prints a field with tabs or line breaks on one line', () => {
    const output = createOutput({ output: ['a', 'b'] });
    printOne(output, { answer: { a: 'x\ty\nz', b: 2 }, facts: [] });
    expect(output.printed.out).toBe('x y z\t2\n');
  });

  test('reports an unknown field, with the known fields, after the output', () => {
    const output = createOutput({ output: ['nmae', 'n'] });
    let failure: unknown = null;
    try {
      printRows(output, { answer: {}, rows, columns, none: '' });
    } catch (cause) {
      failure = cause instanceof CommandEnd ? cause.failure : cause;
    }
    expect(failure).toEqual({ code: 2, message: 'Unknown field nmae. Known fields: name, n, gpu' });
    expect(output.printed).toEqual({ out: '\t1\n\t20\n', err: '' });
  });

  test('treats inherited properties as unknown fields', () => {
    const output = createOutput({ output: ['constructor.name'] });
    expect(() => printOne(output, { answer: { a: 1 }, facts: [] })).toThrow('Unknown field constructor.name');
    expect(output.printed.out).toBe('\n');
  });

  test.each([
    [{}, 'a b\n'],
    [{ json: true }, '{"seq":1,"kind":"job"}\n'],
    [{ output: ['seq'] }, '1\n'],
  ])('prints an event on one line with %j', (flags, line) => {
    const output = createOutput(flags);
    printEvent(output, { seq: 1, kind: 'job' }, 'a\nb');
    expect(output.printed.out).toBe(line);
  });
});
