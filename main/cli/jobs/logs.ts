import { type Command, InvalidArgumentError, Option } from 'commander';
import type { JobId } from '../../../protocol/ids.ts';
import { logsApi } from '../../../protocol/logs-api.ts';
import { isOn, numberOf, readInput, textOf, wholeNumber } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { among, findNewestJob, withJobArgument } from './find.ts';
import { followLogs } from './logs-follow.ts';
import { createLogPrinter, type LogPrinter, printTail } from './logs-print.ts';

const defaultLines = 200;
const searchPageSize = 1_000;

export const logs: RemoteSpec = {
  name: 'logs',
  description: 'Print the last log lines of a job, or follow its log',
  examples: ['trainyard jobs logs my-config --follow', 'trainyard jobs logs my-config --search error -n all'],
  shape: addOptions,
  async act(remote, [word]) {
    const { flags } = remote;
    const { id } = await findNewestJob(remote, word);
    const maxLines = flags['lines'] === undefined ? defaultLines : Number(flags['lines']);
    const attempt = numberOf(flags, 'attempt') ?? undefined;
    readInput(logsApi.read.query, { attempt }, { attempt: '--attempt' });
    const printer = createLogPrinter(remote, isOn(flags, 'timestamps'));
    const q = textOf(flags, 'search');
    if (q !== null) return printMatches(remote, printer, { id, attempt, q, maxLines });
    if (isOn(flags, 'follow')) return followLogs(remote, printer, { id, attempt, maxLines });
    const page = await remote.request(logsApi.read, { params: { id }, query: { attempt, limit: 1 } });
    await printTail(remote, printer, page, maxLines);
    if (page.open_line !== null) printer.showLast(page.open_line);
  },
};

function addOptions(command: Command): Command {
  return withJobArgument(command, among.all)
    .option('-f, --follow', 'print new lines until the job ends, and continue with each retry')
    .option('--attempt <number>', 'number of the attempt (default: the newest with a log)', wholeNumber)
    .option(
      '-n, --lines <count>',
      `number of last lines, or of first matches with --search, or "all" (default: ${defaultLines})`,
      lineCount,
    )
    .option('--timestamps', 'print the time before each line')
    .addOption(
      new Option('--search <text>', 'print only lines with this text, ignoring case').conflicts('follow'),
    );
}

function lineCount(text: string): number {
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Give a whole number, or "all".');
  return Number(text);
}

interface Search {
  readonly id: JobId;
  readonly attempt: number | undefined;
  readonly q: string;
  readonly maxLines: number;
}

async function printMatches(
  remote: Remote,
  printer: LogPrinter,
  { id, attempt, q, maxLines }: Search,
): Promise<void> {
  readInput(logsApi.search.query, { q }, { q: '--search' });
  let shown = 0;
  for (let line = 0; ; ) {
    const left = maxLines - shown;
    // The API refuses a limit of 0, so with `-n 0` the server returns a match that is not printed.
    const limit = Math.max(1, Math.min(searchPageSize, left));
    const page = await remote.request(logsApi.search, {
      params: { id },
      query: { attempt, q, line, limit },
    });
    const matches = page.matches.slice(0, left);
    printer.lines(matches);
    shown += matches.length;
    line = (page.matches.at(-1)?.line ?? 0) + 1;
    if (page.matches.length < limit || shown >= maxLines) {
      const more = page.total_matches - shown;
      if (page.total_matches === 0) remote.terminal.err(`None of ${page.total_lines} lines match\n`);
      else if (more > 0) remote.terminal.err(`${more} more lines match. To print all, use -n all\n`);
      return;
    }
  }
}
