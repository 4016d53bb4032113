import { type Command, Option } from 'commander';
import type { ValueOf } from '../../../protocol/client.ts';
import { runsApi } from '../../../protocol/runs-api.ts';
import { SweepRequest } from '../../../protocol/sweep.ts';
import { parseConfigText } from '../../../trainers/index.ts';
import { readInput } from '../flags.ts';
import { printRows } from '../output.ts';
import type { Remote } from '../remote.ts';
import { type Column, plain } from '../table.ts';
import { addAxis } from './about.ts';
import { warningsText } from './text.ts';

type Reply = ValueOf<typeof runsApi.sweep>;
type Row = Reply['jobs'][number];

export const withSweepOption = (command: Command): Command =>
  command.addOption(
    new Option(
      '--sweep <key=values>',
      'submit a job for each value, such as learning_rate=1e-4,3e-4, also with --template; repeat for a grid of up to 256 jobs',
    )
      .argParser(addAxis(readYaml))
      .conflicts(['wait', 'follow']),
  );

function readYaml(text: string): unknown {
  const parsed = parseConfigText(text, 'yaml');
  return parsed.ok ? parsed.value : null;
}

/** Submits one job of a config for each combination of the `--sweep` values, and prints the jobs with their values. */
export async function submitSweep(
  remote: Remote,
  request: object,
  names: Readonly<Record<string, string>>,
): Promise<void> {
  const body = readInput(
    SweepRequest,
    { ...request, sweep: remote.flags['sweep'] },
    { ...names, sweep: '--sweep' },
  );
  printSweep(remote, body.sweep, await remote.request(runsApi.sweep, { body }));
}

/** Prints the jobs of a sweep with their values. */
export function printSweep(remote: Remote, axes: readonly { readonly key: string }[], answer: Reply): void {
  const { terminal } = remote;
  const columns = columnsFor(axes.map(({ key }) => key));
  printRows(remote, { answer, rows: answer.jobs, columns, none: 'No jobs' });
  const warnings = warningsText(answer.warnings);
  if (warnings !== null) terminal.err(`${plain(warnings)}\n`);
  terminal.err(`${summaryOf(answer)}\n`);
}

function summaryOf({ dry_run: isDryRun, idempotent_hit: isRepeat, jobs, group }: Reply): string {
  const count = `${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}`;
  if (isDryRun) return `${count} in the grid. Nothing was submitted`;
  const groupText = group === null ? '' : ` in group ${group}`;
  return isRepeat ? `Already submitted: ${count}${groupText}` : `Submitted ${count}${groupText}`;
}

const columnsFor = (keys: readonly string[]): readonly Column<Row>[] => [
  { title: 'ID', text: ({ job_id: id }) => id ?? '-' },
  ...keys.map(
    (key): Column<Row> => ({
      title: plain(key),
      text: ({ sweep }) => String(sweep?.[key] ?? null),
      minWidth: 6,
    }),
  ),
  { title: 'NAME', text: ({ name }) => name ?? '-', importance: 1, minWidth: 8 },
];
