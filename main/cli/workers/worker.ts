import type { Command } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { choose } from '../choose.ts';
import { CommandEnd } from '../failure.ts';
import { printOne } from '../output.ts';
import { duration } from '../progress-bar.ts';
import type { Remote } from '../remote.ts';
import type { Column, Fact } from '../table.ts';

/** Adds a worker argument. Completion recognises the argument by its name. */
export const withWorkerArgument = (command: Command): Command =>
  command.argument('<worker>', 'worker name, id, or the start of an id');

/** Finds the worker with this name or id; ends the command when there is none. */
export async function findWorker({ request }: Remote, word = ''): Promise<WorkerView> {
  const { workers } = await request(workersApi.list);
  const choice = choose(word, workers, { what: 'worker', identify: worker => worker });
  if (choice.ok) return choice.value;
  throw new CommandEnd(choice.failure);
}

export const showWorker = (remote: Remote, worker: WorkerView): void =>
  printOne(remote, { answer: worker, facts: workerFacts(worker) });

export const workerColumns: readonly Column<WorkerView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'ID', text: ({ id }) => id, importance: 2 },
  { title: 'STATUS', text: worker => workerStatus(worker) },
  { title: 'GPUS', text: worker => gpusOf(worker), importance: 4, minWidth: 16 },
  { title: 'JOB', text: ({ current_job_id: id }) => id ?? '-', importance: 3 },
  { title: 'SEEN', text: worker => lastSeenText(worker), importance: 1 },
  { title: 'LABELS', text: ({ labels }) => labelPairs(labels).join(' '), minWidth: 16 },
];

/** @internal */
export const workerFacts = (worker: WorkerView): readonly Fact[] => [
  ['Name', worker.name],
  ['Id', worker.id],
  ['Status', workerStatus(worker)],
  ['Type', worker.worker_type],
  ['Location', worker.local ? "the orchestrator's own machine" : null],
  ['GPUs', gpusOf(worker)],
  ['GPU trouble', troubleLines(worker).join('\n') || null],
  ['Job', worker.current_job_id],
  ['Seen', lastSeenText(worker)],
  ['Host', worker.host],
  ['Agent', worker.agent_version],
  ['Update', updateFact(worker)],
  ['Trainers', trainersText(worker.trainers)],
  [
    'Drained',
    worker.drain && `${worker.drain.since} by ${worker.drain.by}${reasonSuffix(worker.drain.reason)}`,
  ],
  ['Stops its job', worker.drain?.deadline ?? null],
  ['Quarantined', worker.quarantine && `${worker.quarantine.since}${reasonSuffix(worker.quarantine.reason)}`],
  [
    'Duplicate',
    worker.duplicate && `${worker.duplicate.host ?? 'another machine'} tried at ${worker.duplicate.at}`,
  ],
  ['Labels', labelLines(worker).join('\n') || null],
];

/** Returns the status, and the reason if the status alone does not show it. */
export function workerStatus({ status, status_reason: reason, quarantine }: WorkerView): string {
  const why = quarantine === null ? reason : 'quarantined';
  return why === null || why === status ? status : `${status} (${why.replaceAll('_', ' ')})`;
}

const gpusOf = ({
  gpu_count: count,
  gpu_name: name,
  gpu_vram_gb: vram,
  gpu_troubles,
}: WorkerView): string => {
  const troubles = gpu_troubles.map(({ gpu, kind }) => `, GPU ${gpu}: ${troubleWords[kind]}`).join('');
  return (count === 0 ? '-' : `${count} x ${name ?? 'GPU'}${vram === null ? '' : ` ${vram} GB`}`) + troubles;
};

/** Returns the state of the update order, or the available version; null for neither. */
function updateFact({ update }: WorkerView): string | null {
  const order = update?.order ?? null;
  if (order !== null) return `${order.state} (${order.version})${reasonSuffix(order.reason)}`;
  return update?.available === true ? `${update.version} is available` : null;
}

const troubleWords = { missing: 'missing', errors: 'memory errors', held: 'held' } as const;

const troubleLines = ({ gpu_troubles: troubles }: WorkerView): readonly string[] =>
  troubles.map(({ gpu, kind, detail }) => `GPU ${gpu}: ${troubleWords[kind]}: ${detail}`);

const lastSeenText = ({ last_contact_age_s: age, registered_at: registered }: WorkerView): string => {
  if (age !== null) return `${duration(age)} ago`;
  return registered === null ? 'never' : 'not since the orchestrator started';
};

const reasonSuffix = (reason: string | null): string => (reason === null ? '' : `: ${reason}`);

const labelPairs = (labels: WorkerView['labels']): readonly string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`);

const labelLines = ({ labels, admin_labels: adminLabels }: WorkerView): readonly string[] =>
  Object.entries(labels).map(
    ([key, value]) => `${key}=${value}${Object.hasOwn(adminLabels, key) ? '' : ' (its own)'}`,
  );

/** Returns null when the agent does not report its trainers. */
const trainersText = (trainers: WorkerView['trainers']): string | null =>
  trainers === null ? null : trainers.map(trainerText).join(', ') || 'none';

function trainerText({ name, version }: NonNullable<WorkerView['trainers']>[number]): string {
  if (name === 'any') return 'any config';
  return version === null ? name : `${name} ${version}`;
}
