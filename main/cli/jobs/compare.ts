import type { AttemptView, JobDetail } from '../../../protocol/job.ts';
import { shownName } from '../../../protocol/job-about.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printRows } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { type Column, plain } from '../table.ts';
import { differingKeys, type FlatConfig, flatten } from '../../../protocol/compare-configs.ts';
import { groupOf, withGroup } from './bulk.ts';
import { among, everyPage, findNewestJob, JobArgument } from './find.ts';

interface Row extends Readonly<Record<string, unknown>> {
  readonly job_id: string;
  readonly config_name: string;
  readonly name: string | null;
  readonly status: string;
  readonly step: number | null;
  readonly loss: number | null;
  /** Run time of all attempts together, in seconds. */
  readonly run_s: number;
  /** The values that differ between the jobs, by path. A path that this job's config lacks is absent. */
  readonly config: Readonly<Record<string, unknown>>;
}

export const compare: RemoteSpec = {
  name: 'compare',
  description: 'Compare jobs, or those of a group: config keys that differ, status, step, loss and run time',
  examples: [
    'trainyard jobs compare j_2f41 j_8c07',
    'trainyard jobs compare --group flowers-20260114-093000 --json',
  ],
  shape: command =>
    withGroup(command.addArgument(new JobArgument(among.all, '[job...]')), 'all jobs of this group'),
  async act(remote, words) {
    const ids = await selectJobs(remote, words);
    if (ids.size < 2) fail(exitCodes.usage, 'Give at least two different jobs, or --group GROUP');
    const jobs = [];
    for (const id of ids) jobs.push(await readJob(remote, id));
    const keys = differingKeys(jobs.map(({ config }) => config));
    const rows = jobs.map(({ job, config }) => rowOf(job, config, keys));
    const answer = { keys, jobs: rows };
    printRows(remote, { answer, rows, columns: columnsFor(keys), none: 'No matching jobs' });
    if (keys.length === 0) remote.terminal.err('The configs are the same\n');
  },
};

/** Returns the ids of the named jobs, then of the jobs in the group, oldest first. */
async function selectJobs(remote: Remote, words: readonly string[]): Promise<ReadonlySet<JobDetail['id']>> {
  const ids = new Set<JobDetail['id']>();
  for (const word of words) ids.add((await findNewestJob(remote, word)).id);
  const group = groupOf(remote);
  if (group === undefined) return ids;
  for (const { id } of (await everyPage(remote, { group, order: 'asc' })).entries) ids.add(id);
  return ids;
}

async function readJob({ request }: Remote, id: JobDetail['id']) {
  const job = await request(queueApi.get, { params: { id } });
  const { config, dataloader } = await request(queueApi.config, { params: { id } });
  const loader = dataloader === null ? [] : flatten({ dataloader });
  return { job, config: new Map([...flatten(config), ...loader]) };
}

function rowOf(job: JobDetail, config: FlatConfig, keys: readonly string[]): Row {
  const { id, name, config_name, status, progress, attempts } = job;
  return {
    job_id: id,
    config_name,
    name,
    status,
    step: progress?.step ?? null,
    loss: progress?.loss ?? null,
    run_s: attempts.reduce((sum, attempt) => sum + runTime(attempt), 0),
    config: Object.fromEntries(keys.filter(key => config.has(key)).map(key => [key, config.get(key)])),
  };
}

function runTime({ started_at: from, ended_at: to }: AttemptView): number {
  if (from === null) return 0;
  const end = to === null ? Date.now() : Date.parse(to);
  return Math.max(0, Math.round((end - Date.parse(from)) / 1000));
}

const columnsFor = (keys: readonly string[]): readonly Column<Row>[] => [
  { title: 'ID', text: ({ job_id: id }) => id },
  { title: 'NAME', text: job => shownName(job), importance: 1, minWidth: 8 },
  ...keys.map(
    (key): Column<Row> => ({
      title: plain(key),
      text: ({ config }) => (Object.hasOwn(config, key) ? valueText(config[key]) : '-'),
      importance: 3,
      minWidth: 8,
    }),
  ),
  { title: 'STATUS', text: ({ status }) => status },
  { title: 'STEP', text: ({ step }) => (step === null ? '-' : String(step)) },
  { title: 'LOSS', text: ({ loss }) => (loss === null ? '-' : String(Number(loss.toPrecision(4)))) },
  { title: 'RUN TIME', text: ({ run_s: time }) => duration(time), importance: 2 },
];

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
