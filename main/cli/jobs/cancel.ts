import { type Command, Option } from 'commander';
import { finalStatuses, isWaiting } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, wordsAmong } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import {
  actOnAll,
  cancelOne,
  groupOf,
  jobsWith,
  purgeOne,
  waitingFirst,
  withGroup,
  withYes,
} from './bulk.ts';
import { among, findJob, JobArgument, showJob, withJobArgument } from './find.ts';

/** `--status running` selects jobs with any of these statuses. `total_running` of the queue counts the same jobs. */
const statusesOnWorkers = ['dispatched', 'starting', 'running', 'recovering'] as const;
const waitingStatuses = ['pending', 'blocked'] as const;
const cancellable = ['running', 'pending', 'queued', 'blocked'];

export const cancel: RemoteSpec = {
  name: 'cancel',
  description: 'Cancel a pending or running job, or several with --status, --group or --all',
  shape: command => withYes(addOptions(command)),
  async act(remote, [word]) {
    const { flags } = remote;
    const statuses = flags['status'];
    const group = groupOf(remote);
    const isBulk = isOn(flags, 'all') || Array.isArray(statuses) || group !== undefined;
    if (isBulk === (word !== undefined))
      fail(
        exitCodes.usage,
        'Specify a job, --status STATUS, --group GROUP, or --all for all jobs that have not ended',
      );
    if (word !== undefined) return cancelNamed(remote, word);
    const selected = Array.isArray(statuses)
      ? statuses.map(String)
      : [...statusesOnWorkers, ...waitingStatuses];
    const jobs = await jobsWith(
      remote,
      selected.flatMap(status => (status === 'running' ? statusesOnWorkers : [status])),
      group,
    );
    return actOnAll(remote, { jobs: waitingFirst(jobs), verb: 'Cancel', act: cancelOne(remote) });
  },
};

const addOptions = (command: Command): Command =>
  withGroup(command, 'all jobs of this group that have not ended')
    .addArgument(new JobArgument(among.unended, '[job]'))
    .addOption(
      new Option('-s, --status <status>', 'all jobs with these statuses, separated by commas')
        .choices(cancellable)
        .argParser(wordsAmong('status', cancellable)),
    )
    .addOption(new Option('--all', 'all jobs that have not ended').conflicts('status'));

async function cancelNamed(remote: Remote, word: string): Promise<void> {
  const { id, status, config_name: name, worker_name: worker } = await findJob(remote, word, among.unended);
  if (!isWaiting(status))
    await remote.confirm(`Cancel job ${id} (${name}), which is ${status} on ${worker ?? 'its worker'}?`);
  showJob(remote, await remote.request(queueApi.cancel, { params: { id } }));
}

export const release: RemoteSpec = {
  name: 'release',
  description:
    'Requeue the job of an unreachable worker, or end it if it is being cancelled. The worker may still be training it',
  shape: command => withJobArgument(command, among.unended).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { id, status, worker_name: worker } = await findJob(remote, word, among.unended);
    const next = status === 'cancelling' ? 'ends as cancelled' : 'is requeued for another worker';
    await remote.confirm(
      `Job ${id} ${next}, but ${worker ?? 'its worker'} may still be training it. Continue?`,
    );
    showJob(remote, await remote.request(queueApi.release, { params: { id } }));
  },
};

const purgeable = [...waitingStatuses, 'queued', ...finalStatuses];

export const purge: RemoteSpec = {
  name: 'purge',
  description: 'Delete jobs by status, with their files and logs. Pending jobs are cancelled first',
  shape: command => withYes(addPurgeOptions(command)),
  async act(remote) {
    const { flags } = remote;
    const { status } = flags;
    const givenStatuses = Array.isArray(status) ? status.map(String) : [];
    const statuses = isOn(flags, 'all') ? [...waitingStatuses, ...finalStatuses] : givenStatuses;
    if (statuses.length === 0) fail(exitCodes.usage, 'Specify --status STATUS or --all');
    await actOnAll(remote, {
      jobs: await jobsWith(remote, statuses),
      verb: 'Delete, with their files and logs,',
      act: purgeOne(remote),
    });
  },
};

const addPurgeOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('-s, --status <status>', 'only these statuses, separated by commas; repeatable')
        .choices(purgeable)
        .argParser((text: string, before: readonly string[] | undefined) => [
          ...(before ?? []),
          ...wordsAmong('status', purgeable)(text),
        ]),
    )
    .addOption(new Option('--all', 'all waiting and ended jobs').conflicts('status'));
