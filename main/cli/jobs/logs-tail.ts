import { type LogPage, logsApi } from '../../../protocol/logs-api.ts';
import type { Remote } from '../remote.ts';
import type { LogPrinter } from './logs-print.ts';

const inPage = 2_000;

/** Prints the last lines up to the page's `total_lines`, in as many requests as needed. */
export async function printTail(
  remote: Remote,
  printer: LogPrinter,
  { job_id: id, attempt, total_lines: total, first_line: kept }: LogPage,
  most: number,
): Promise<void> {
  let line = Math.max(kept, total - most);
  while (line < total) {
    const limit = Math.min(inPage, total - line);
    const page = await remote.ask(logsApi.read, { params: { id }, query: { attempt, line, limit } });
    const lines = page.lines.filter(each => each.line < total);
    printer.lines(lines);
    // Storage limits may have removed the next lines.
    line = Math.max((lines.at(-1)?.line ?? total) + 1, page.first_line);
  }
}
