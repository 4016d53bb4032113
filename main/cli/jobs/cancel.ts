import { type Command, Option } from 'commander';
import { isWaiting } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, wordsAmong } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { among, JobArgument, takesJob } from './argument.ts';
import { actOnAll, cancelOne, jobsWith, waitingFirst, withYes } from './bulk.ts';
import { findJob, showJob } from './find.ts';

/** `running` means every job on a worker, as in the queue's `total_running`. */
const onWorkers = ['dispatched', 'starting', 'running', 'recovering'] as const;
const waiting = ['pending', 'blocked'] as const;
const cancellable = ['running', 'pending', 'queued', 'blocked'];

export const cancel: RemoteSpec = {
  name: 'cancel',
  description: 'Cancel a job, a running one too; or many jobs with --status or --all',
  shape: command => withYes(addOptions(command)),
  async act(remote, [word]) {
    const { flags } = remote;
    const statuses = flags['status'];
    const isBulk = isOn(flags, 'all') || Array.isArray(statuses);
    if (isBulk === (word !== undefined))
      fail(exitCodes.usage, 'Give a job, or --status STATUS, or --all for all jobs that have not ended');
    if (word !== undefined) return cancelNamed(remote, word);
    const wanted = Array.isArray(statuses) ? statuses.map(String) : [...onWorkers, ...waiting];
    const jobs = await jobsWith(
      remote,
      wanted.flatMap(status => (status === 'running' ? onWorkers : [status])),
    );
    return actOnAll(remote, { jobs: waitingFirst(jobs), verb: 'Cancel', act: cancelOne(remote) });
  },
};

const addOptions = (command: Command): Command =>
  command
    .addArgument(new JobArgument(among.unended, '[job]'))
    .addOption(
      new Option('-s, --status <status>', 'all jobs with this status; with commas')
        .choices(cancellable)
        .argParser(wordsAmong('status', cancellable)),
    )
    .addOption(new Option('--all', 'all jobs that have not ended').conflicts('status'));

async function cancelNamed(remote: Remote, word: string): Promise<void> {
  const { id, status, config_name: name, worker_name: worker } = await findJob(remote, word, among.unended);
  if (!isWaiting(status))
    await remote.confirm(`Stop the job ${id} (${name}), which is ${status} on ${worker ?? 'its worker'}?`);
  showJob(remote, await remote.ask(queueApi.cancel, { params: { id } }));
}

export const release: RemoteSpec = {
  name: 'release',
  description: 'Wait no longer for a silent worker: the job goes to another one, or ends as cancelled',
  shape: command => takesJob(command, among.unended).option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const { id, status, worker_name: worker } = await findJob(remote, word, among.unended);
    const next = status === 'cancelling' ? 'ends as cancelled' : 'goes to another worker';
    await remote.confirm(
      `The job ${id} ${next}, and ${worker ?? 'its worker'} may still train it for now. Go on?`,
    );
    showJob(remote, await remote.ask(queueApi.release, { params: { id } }));
  },
};
