import type { ValueOf } from '../../../protocol/client.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { printOne } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Fact } from '../table.ts';
import { queueFacts } from './text.ts';

type Stats = ValueOf<typeof queueApi.stats>;
type StuckJobs = Stats['waiting_for_offline'][number];

export const stats: RemoteSpec = {
  name: 'stats',
  description: 'Count jobs by status and user, with wait and run times',
  async act(remote) {
    const answer = await remote.ask(queueApi.stats);
    printOne(remote, { answer, facts: statsFacts(answer) });
  },
};

export const statsFacts = (figures: Stats): readonly Fact[] => [
  ...queueFacts(figures),
  ['Jobs', lines(Object.entries(figures.by_status).map(([word, count]) => `${count} ${word}`))],
  [
    'Users',
    lines(
      Object.entries(figures.by_user).map(
        ([user, { pending, running }]) => `${user}: ${pending} pending, ${running} on workers`,
      ),
    ),
  ],
  ['Ended in 24 h', endedText(figures.ended_24h)],
  ['This machine', localText(figures.local)],
  ['GPU hours', figures.gpu_hours_24h === 0 ? null : `${figures.gpu_hours_24h} in 24 h`],
  [
    'Unschedulable',
    lines(
      figures.unsatisfiable.map(({ job_id: id, count }) =>
        count === 1 ? id : `${id} and ${count - 1} like it`,
      ),
    ),
  ],
  ['Offline only', lines(figures.waiting_for_offline.map(offlineText))],
  ['Waited', figures.avg_wait_seconds === null ? null : `${duration(figures.avg_wait_seconds)} on average`],
  ['Ran', figures.avg_run_seconds === null ? null : `${duration(figures.avg_run_seconds)} on average`],
];

const offlineText = ({ worker_name: name, worker_count: workers, count }: StuckJobs): string => {
  const others = workers === 1 ? '' : ` or ${workers - 1} more`;
  return `${name}${others}: ${count} pending`;
};

/** Returns null when this machine has no worker and no job targets it. */
const localText = (local: Stats['local']): string | null =>
  local === null || local.total_gpus + local.running_jobs + local.pending_jobs === 0
    ? null
    : `${local.running_jobs} running, ${local.pending_jobs} pending, ${local.allocated_gpus.length} of ${local.total_gpus} GPUs in use`;

const endedText = ({ completed, failed, cancelled }: Stats['ended_24h']): string =>
  `${completed} completed, ${failed} failed, ${cancelled} cancelled`;

const lines = (all: readonly string[]): string | null => all.join('\n') || null;
