import type { LogLine } from '../../../protocol/logs-api.ts';
import { isOn } from '../flags.ts';
import { printEvent } from '../output.ts';
import type { Remote } from '../remote.ts';
import { cutLine, plain } from '../table.ts';

export interface LogPrinter {
  lines(lines: readonly LogLine[]): void;
  /** What there is of the line that is not ended: drawn over when there is more, and only where there is a screen. */
  open(line: string | null): void;
  /** The same where nothing follows. */
  showLast(line: string): void;
  /** Before something else is written. */
  clear(): void;
}

/** For people the lines as they are, for programs as they want them. */
export function createLogPrinter(
  { terminal, flags }: Pick<Remote, 'terminal' | 'flags'>,
  withTimes: boolean,
): LogPrinter {
  const isForPeople = !isOn(flags, 'json') && flags['output'] === undefined;
  let isOpen = false;
  const clear = (): void => {
    if (isOpen) terminal.out('\r\u001b[2K');
    isOpen = false;
  };
  const textOf = ({ at, text }: LogLine): string => `${withTimes ? `${at} ` : ''}${colouredText(text)}\n`;
  return {
    clear,
    lines(lines) {
      if (lines.length === 0) return;
      clear();
      if (isForPeople) terminal.out(lines.map(textOf).join(''));
      else for (const line of lines) printEvent({ terminal, flags }, line, '');
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
      if (isForPeople && terminal.outScreen() !== null) terminal.out(`${colouredText(line)}\n`);
    },
  };
}

/** Those of ECMA-48, section 5: control sequences, strings with their ends, and short ones; a lone escape, too. */
const escape = '\u001b';
const strings = `[\\]PX^_][^${escape}\\ufffd]*(?:${escape}\\\\|\\ufffd)?`;
const escapes = new RegExp(
  `${escape}(?:\\[[0-?]*[ -/]*[@-~]|${strings}|[ -/]+[0-~]|[0-OQ-WYZ\\\\\`-~])?`,
  'g',
);
const colour = new RegExp(`^${escape}\\[[\\d;:]*m$`);
/** As in tables, but tabs: what machines say is not trusted with the cursor, nor with the direction of text. */
const unseen = new RegExp(
  `(?![\t${escape}])[\\p{Cc}\\p{Zl}\\p{Zp}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]`,
  'gu',
);
const endOfColours = `${escape}[0m`;

const withoutColours = (text: string): string => text.replaceAll(escapes, '');

/** Colours stay in their own line; nothing else of what a terminal obeys is left. */
function colouredText(text: string): string {
  let hasColours = false;
  const shown = text.replaceAll(escapes, sequence => {
    if (!colour.test(sequence)) return '';
    hasColours = true;
    return sequence;
  });
  const clean = shown.replaceAll(unseen, ' ');
  return hasColours ? `${clean}${endOfColours}` : clean;
}
