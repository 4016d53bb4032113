import type { ReplyOf } from '../../../protocol/call.ts';
import { type MetricBucket, metricsApi } from '../../../protocol/metrics-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, numberOf, readInput, wholeNumber, wordList } from '../flags.ts';
import { printRows } from '../output.ts';
import { printDownload } from '../print-download.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';
import { among, findNewestJob, withJobArgument } from './find.ts';
import { sparkline } from './sparkline.ts';

/** One metric of the job, over all attempts. */
interface Row extends Readonly<Record<string, unknown>> {
  readonly key: string;
  readonly value: number | null;
  readonly step: number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** One curve per attempt, oldest first. */
  readonly curves: readonly (readonly MetricBucket[])[];
}

const columns: readonly Column<Row>[] = [
  { title: 'KEY', text: ({ key }) => key },
  { title: 'LATEST', text: ({ value }) => numberText(value) },
  { title: 'STEP', text: ({ step }) => numberText(step), importance: 1 },
  { title: 'LOWEST', text: ({ min }) => numberText(min) },
  { title: 'HIGHEST', text: ({ max }) => numberText(max), importance: 2 },
];
/** Maximum width of a curve in characters. A wider curve would show no more detail. */
const maxWidth = 60;

export const metrics: RemoteSpec = {
  name: 'metrics',
  description: 'Show training metrics: latest, lowest, highest and, on a terminal, curves',
  shape: command =>
    withJobArgument(command, among.all)
      .option('--keys <names>', 'only these metrics, such as loss,learning_rate', wordList)
      .option('--attempt <n>', 'only this attempt', wholeNumber)
      .option('--csv', 'print the curves as comma-separated values'),
  async act(remote, [word]) {
    const { flags, terminal } = remote;
    if (isOn(flags, 'csv') && isOn(flags, 'json')) fail(exitCodes.usage, 'Use --csv or --json, not both');
    const { id } = await findNewestJob(remote, word);
    const keys = Array.isArray(flags['keys']) ? flags['keys'].map(String).join(',') : undefined;
    const attempt = numberOf(flags, 'attempt');
    const query = { ...(keys !== undefined && { keys }), ...(attempt !== null && { attempt }) };
    readInput(metricsApi.read.query, query, { keys: '--keys', attempt: '--attempt' });
    if (isOn(flags, 'csv')) return printDownload(remote, metricsApi.download, { params: { id }, query });
    const answer = await remote.request(metricsApi.read, { params: { id }, query });
    const screen = terminal.outScreen();
    const width = Math.min(maxWidth, (screen?.columns ?? 0) - 70);
    printRows(remote, {
      answer,
      rows: rowsOf(answer),
      columns: screen === null ? columns : [...columns, curveColumn(Math.max(10, width))],
      none: 'No matching metrics',
    });
  },
};

const curveColumn = (width: number): Column<Row> => ({
  title: 'CURVE',
  text: ({ curves }) => sparkline(curves, width),
});

function rowsOf({ keys, attempts }: ReplyOf<typeof metricsApi.read>): readonly Row[] {
  return keys.flatMap(({ key }) => {
    const curves = attempts.flatMap(({ series }) =>
      series.filter(each => each.key === key).map(({ points }) => points),
    );
    const points = curves.flat();
    const newest = points.findLast(({ last }) => last !== null);
    if (points.length === 0) return [];
    return {
      key,
      value: newest?.last ?? null,
      step: newest?.step ?? null,
      min: extreme(
        points.map(({ min }) => min),
        Math.min,
      ),
      max: extreme(
        points.map(({ max }) => max),
        Math.max,
      ),
      curves,
    };
  });
}

function extreme(
  numbers: readonly (number | null)[],
  select: (...numbers: number[]) => number,
): number | null {
  const known = numbers.flatMap(each => each ?? []);
  return known.length === 0 ? null : select(...known);
}

/** Formats integers below 10^9 in full, and other numbers with four significant digits. */
function numberText(value: number | null): string {
  if (value === null) return '-';
  return Number.isInteger(value) && Math.abs(value) < 1e9
    ? String(value)
    : String(Number(value.toPrecision(4)));
}
