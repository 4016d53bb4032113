import type { Explanation } from '../../../protocol/explain.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Fact } from '../table.ts';
import { among, findJob, withJobArgument } from './find.ts';

export const why: RemoteSpec = {
  name: 'why',
  description: 'Explain why a job is pending and when it may start',
  shape: command => withJobArgument(command, among.unended),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.unended, { newest: true });
    const answer = await remote.request(queueApi.explain, { params: { id } });
    printOne(remote, { answer, facts: explanationFacts(answer) });
  },
};

type WorkerVerdict = Explanation['workers'][number];

/** Explains a pending job: a summary, its blockers, the reasons against each worker, and a predicted start. */
export function explanationFacts(explanation: Explanation): readonly Fact[] {
  const { status, summary, unsatisfiable, position, reasons, workers } = explanation;
  return [
    ['Job', explanation.job_id],
    ['Status', status],
    ['Why', summary ?? 'The job is not pending'],
    ['Unschedulable', unsatisfiable ? 'No registered worker can run it' : null],
    ['Position', position === null ? null : String(position)],
    // A single reason is already in the summary.
    ['Blockers', reasons.length < 2 ? null : lines(reasons.map(({ detail }) => detail))],
    ['Workers', lines(workers.map(workerText))],
    ['Pools', poolsText(explanation)],
    ['Start', startText(explanation)],
  ];
}

/** Returns one line per pool; null without pools. */
export const poolsText = ({ pools }: Pick<Explanation, 'pools'>): string | null =>
  lines(pools.map(({ name, detail }) => `${name}: ${detail}`));

function workerText({ name, local, fits, reasons, datasets }: WorkerVerdict): string {
  const where = local ? ' (the orchestrator’s own machine)' : '';
  const details = reasons.map(({ detail }) => detail);
  return `${name}${where}: ${[...(fits ? ['eligible'] : []), ...details, ...dataText(datasets)].join('; ')}`;
}

function dataText(datasets: WorkerVerdict['datasets']): readonly string[] {
  if (datasets === null) return [];
  const { here, wanted } = datasets;
  if (here === wanted) return ['has the data'];
  return [here === 0 ? 'must fetch the data' : `has ${here} of ${wanted} datasets`];
}

function startText({ summary, predicted_start: start, no_prediction: none }: Explanation): string | null {
  if (summary === null) return null;
  // The reason for the missing prediction may be the same as the summary.
  if (start === null) return none === summary ? null : none;
  return `${start.at}, in ${duration(start.in_s)} (estimate). ${start.basis}`;
}

const lines = (all: readonly string[]): string | null => all.join('\n') || null;
