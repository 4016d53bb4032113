import { type LogLine, type LogPage, logsApi } from '../../../protocol/logs-api.ts';
import { isOn } from '../flags.ts';
import { printEvent } from '../output.ts';
import type { Remote } from '../remote.ts';
import { cutLine, plain } from '../table.ts';

export interface LogPrinter {
  lines(lines: readonly LogLine[]): void;
  /** Shows the last line while it is incomplete, and overwrites it as it grows. Does nothing without a terminal. */
  open(line: string | null): void;
  /** Prints the incomplete last line when no more text will follow. Does nothing without a terminal. */
  showLast(line: string): void;
  /** Removes the incomplete line from the screen before other output. */
  clear(): void;
}

/** Prints log lines as plain text, or in the format that --json or --output selects. */
export function createLogPrinter(
  { terminal, flags, env }: Pick<Remote, 'terminal' | 'flags' | 'env'>,
  withTimes: boolean,
): LogPrinter {
  const isForPeople = !isOn(flags, 'json') && flags['output'] === undefined;
  // Colours are for terminals: https://no-color.org
  const hasColours = terminal.outScreen() !== null && !env['NO_COLOR'];
  const shownText = hasColours ? colouredText : uncolouredText;
  let isOpen = false;
  const clear = (): void => {
    if (isOpen) terminal.out('\r\u001b[2K');
    isOpen = false;
  };
  const textOf = ({ at, text }: LogLine): string => `${withTimes ? `${at} ` : ''}${shownText(text)}\n`;
  return {
    clear,
    lines(lines) {
      if (lines.length === 0) return;
      clear();
      if (isForPeople) terminal.out(lines.map(textOf).join(''));
      else
        for (const line of lines)
          printEvent({ terminal, flags }, isOn(flags, 'json') ? line : withoutEscapes(line), '');
    },
    open(line) {
      const screen = terminal.outScreen();
      if (!isForPeople || screen === null) return;
      clear();
      if (line === null) return;
      terminal.out(cutLine(plain(withoutColours(line)), screen.columns - 1));
      isOpen = true;
    },
    showLast(line) {
      if (isForPeople && terminal.outScreen() !== null) terminal.out(`${shownText(line)}\n`);
    },
  };
}

/** Escape sequences of ECMA-48, section 5: control sequences, control strings, short sequences, and a lone escape. */
const escape = '\u001b';
const strings = `[\\]PX^_][^${escape}\\ufffd]*(?:${escape}\\\\|\\ufffd)?`;
const escapes = new RegExp(
  `${escape}(?:\\[[0-?]*[ -/]*[@-~]|${strings}|[ -/]+[0-~]|[0-OQ-WYZ\\\\\`-~])?`,
  'g',
);
const colour = new RegExp(`^${escape}\\[[\\d;:]*m$`);
/**
 * Like `unsafeCharacters` in `table.ts`, but does not match tabs and the escape character. Output of other machines must not move
 * the cursor or change the text direction.
 */
const unsafeCharacters = new RegExp(
  `(?![\t${escape}])[\\p{Cc}\\p{Zl}\\p{Zp}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]`,
  'gu',
);
const endOfColours = `${escape}[0m`;

const uncolouredText = (text: string): string => withoutColours(text).replaceAll(unsafeCharacters, ' ');

const withoutEscapes = (line: LogLine): LogLine => ({ ...line, text: withoutColours(line.text) });

const withoutColours = (text: string): string => text.replaceAll(escapes, '');

/** Keeps the sequences for colours, and resets the colours at the end of the line. Removes all other escape sequences. */
function colouredText(text: string): string {
  let hasColours = false;
  const shown = text.replaceAll(escapes, sequence => {
    if (!colour.test(sequence)) return '';
    hasColours = true;
    return sequence;
  });
  const clean = shown.replaceAll(unsafeCharacters, ' ');
  return hasColours ? `${clean}${endOfColours}` : clean;
}

/** Maximum number of lines per request. */
const pageSize = 2_000;

/** Prints the last `maxLines` of the page's `total_lines` lines, in several requests if needed. */
export async function printTail(
  remote: Remote,
  printer: LogPrinter,
  { job_id: id, attempt, total_lines: total, first_line: first }: LogPage,
  maxLines: number,
): Promise<void> {
  let line = Math.max(first, total - maxLines);
  while (line < total) {
    const limit = Math.min(pageSize, total - line);
    const page = await remote.request(logsApi.read, { params: { id }, query: { attempt, line, limit } });
    const lines = page.lines.filter(each => each.line < total);
    printer.lines(lines);
    // Retention of logs may have removed the next lines.
    line = Math.max((lines.at(-1)?.line ?? total) + 1, page.first_line);
  }
}
