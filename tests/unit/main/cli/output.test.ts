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
  const said = { out: '', err: '' };
  const screen = () => (columnsOfScreen === null ? null : { columns: columnsOfScreen, rows: 10 });
  return {
    said,
    flags,
    terminal: {
      out: (text: string) => void (said.out += text),
      err: (text: string) => void (said.err += text),
      outScreen: screen,
      errScreen: screen,
      ask: null,
    },
  };
}

describe('a table', () => {
  test('counts columns of the screen, not characters', () => {
    expect(tableLines(rows, columns, null)).toEqual(['NAME    N', '学習機  1', 'rig     20']);
  });

  test('is cut at the edge of a screen, and nowhere else', () => {
    const to = printer({}, 8);
    printRows(to, { answer: {}, rows, columns, none: '' });
    expect(to.said.out).toBe('NAME   …\n学習機 …\nrig    …\n');
    expect(cutLine('学習機', 4)).toBe('学…');
    expect(cutLine('x'.repeat(500), null)).toHaveLength(500);
  });

  test('lets no text move the cursor or turn the line around', () => {
    const evil = [{ name: '\u001b[2Jrig\u202egnp.exe\r\nADMIN\u009b1m', n: 1 }];
    expect(tableLines(evil, columns, null)[1]).toBe('[2Jrig gnp.exe ADMIN 1m  1');
    expect(plainLines('one\u001b[1m\r\ntwo\u0007')).toEqual(['one [1m', 'two']);
  });

  test('without rows says so where people read, and nothing where programs do', () => {
    const to = printer({});
    printRows(to, { answer: {}, rows: [], columns, none: 'There is none: make one' });
    expect(to.said).toEqual({ out: '', err: 'There is none: make one\n' });
  });
});

test('facts stand below each other, those without a value are left out, and longer texts keep their lines', () => {
  expect(
    factLines([
      ['Id', 'j_1'],
      ['Message', 'first\nsecond'],
      ['Worker', null],
    ]),
  ).toEqual(['Id       j_1', 'Message  first', '         second']);
});

describe('for programs', () => {
  test('--json prints the whole answer, with nothing in it that a terminal obeys', () => {
    const to = printer({ json: true });
    const answer = { name: 'rig\u009b2J\u001b', n: 1 };
    printOne(to, { answer, facts: [] });
    expect(JSON.parse(to.said.out)).toEqual(answer);
    expect(to.said.out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test('-o prints fields, also inner ones, with tabs between', () => {
    const to = printer({ output: ['name', 'gpu.name', 'gpu.list', 'gpu.list.1'] });
    printRows(to, { answer: {}, rows, columns, none: '' });
    expect(to.said).toEqual({ out: '学習機\tA100\t[1,2]\t2\nrig\t\t\t\n', err: '' });
  });

  test('a field with a tab or a line break stays one', () => {
    const to = printer({ output: ['a', 'b'] });
    printOne(to, { answer: { a: 'x\ty\nz', b: 2 }, facts: [] });
    expect(to.said.out).toBe('x y z\t2\n');
  });

  test('an unknown field is a usage error that names the known fields, after the output', () => {
    const to = printer({ output: ['nmae', 'n'] });
    let failure: unknown = null;
    try {
      printRows(to, { answer: {}, rows, columns, none: '' });
    } catch (cause) {
      failure = cause instanceof CommandEnd ? cause.failure : cause;
    }
    expect(failure).toEqual({ code: 2, message: 'Unknown field nmae. Known fields: name, n, gpu' });
    expect(to.said).toEqual({ out: '\t1\n\t20\n', err: '' });
  });

  test('what is inherited is no field', () => {
    const to = printer({ output: ['constructor.name'] });
    expect(() => printOne(to, { answer: { a: 1 }, facts: [] })).toThrow('Unknown field constructor.name');
    expect(to.said.out).toBe('\n');
  });

  test.each([
    [{}, 'a b\n'],
    [{ json: true }, '{"seq":1,"kind":"job"}\n'],
    [{ output: ['seq'] }, '1\n'],
  ])('an event is one line with %j', (flags, line) => {
    const to = printer(flags);
    printEvent(to, { seq: 1, kind: 'job' }, 'a\nb');
    expect(to.said.out).toBe(line);
  });
});
