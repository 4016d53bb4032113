import { BatchRequest } from '../../../protocol/batch.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, readInput } from '../flags.ts';
import { printRows } from '../output.ts';
import type { Remote } from '../remote.ts';
import { type Column, plain } from '../table.ts';
import { warningsText } from './text.ts';

type Reply = ValueOf<typeof queueApi.submitBatch>;

/** Options that work only with a single config. */
const forOneJob = ['wait', 'follow', 'sweep', 'no-wait'] as const;

/** Submits a job for each config, all of them or none, and prints the jobs. */
export async function submitBatch(
  remote: Remote,
  words: readonly string[],
  requestFor: (word: string) => Promise<object>,
): Promise<void> {
  const { terminal, flags } = remote;
  const unsupported = forOneJob.find(name => flags[name] !== undefined);
  if (unsupported !== undefined)
    return fail(exitCodes.usage, `--${unsupported} works with one config, not with several`);
  const jobs: object[] = [];
  for (const word of words) {
    const { idempotency_key: _key, dry_run: _dry, ...job } = { ...batchFields, ...(await requestFor(word)) };
    jobs.push(job);
  }
  const key = flags['idempotency-key'];
  const request = {
    jobs,
    dry_run: isOn(flags, 'dry-run'),
    ...(key !== undefined && { idempotency_key: key }),
  };
  const body = readInput(BatchRequest, request, { idempotency_key: '--idempotency-key' });
  const answer = await remote.request(queueApi.submitBatch, { body });
  printRows(remote, { answer, rows: answer.jobs, columns, none: 'No jobs' });
  const warnings = warningsText(answer.warnings);
  if (warnings !== null) terminal.err(`${plain(warnings)}\n`);
  terminal.err(`${summaryOf(answer)}\n`);
}

/** Declares the fields that apply to the whole batch, so that TypeScript allows removing them from each job. */
const batchFields: { readonly idempotency_key?: unknown; readonly dry_run?: unknown } = {};

function summaryOf({ dry_run: isDryRun, idempotent_hit: isRepeat, jobs }: Reply): string {
  if (isDryRun) return `${jobs.length} jobs would be submitted. Nothing was submitted`;
  return isRepeat ? `Already submitted: ${jobs.length} jobs` : `Submitted ${jobs.length} jobs`;
}

const columns: readonly Column<Reply['jobs'][number]>[] = [
  { title: 'ID', text: ({ job_id: id }) => id ?? '-' },
  { title: 'CONFIG', text: ({ config_name: config }) => config, minWidth: 8 },
  { title: 'NAME', text: ({ name }) => name ?? '-', importance: 1, minWidth: 8 },
];
