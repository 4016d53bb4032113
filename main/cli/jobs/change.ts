import { Argument, InvalidArgumentError } from 'commander';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { priorities } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { RequestKind } from '../../../protocol/requests.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, readInput, textOf } from '../flags.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { actOnAll, groupOf, retryOne, withGroup, withYes } from './bulk.ts';
import { among, everyPage, findJob, JobArgument, showJob, withJobArgument } from './find.ts';
import { concludeSubmission, withWaitOptions } from './submission.ts';

/** Parses a number, or a priority name in any case. */
export function priorityOf(text: string): number {
  const ofName = Object.entries(priorities).find(([name]) => name === text.toLowerCase())?.[1];
  if (ofName !== undefined) return ofName;
  if (!/^\d{1,2}$/.test(text) || Number(text) > 50)
    throw new InvalidArgumentError(`Give 0 to 50, or one of ${Object.keys(priorities).join(', ')}.`);
  return Number(text);
}

export const priority: RemoteSpec = {
  name: 'priority',
  description: 'Change the priority of a pending job',
  shape: command =>
    withJobArgument(command, among.pending).addArgument(
      new Argument('<priority>', '0 to 50, or a name; higher priorities go first')
        .choices(Object.keys(priorities))
        .argParser(priorityOf),
    ),
  async act(remote, [word, level = '']) {
    const body = { priority: priorityOf(level) };
    const { id } = await findJob(remote, word, among.pending);
    showJob(remote, await remote.request(queueApi.setPriority, { params: { id }, body }));
  },
};

export const top: RemoteSpec = {
  name: 'top',
  description: 'Move a pending job to the top of the queue',
  shape: command => withJobArgument(command, among.pending),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.pending);
    showJob(remote, await remote.request(queueApi.moveToTop, { params: { id } }));
  },
};

export const approve: RemoteSpec = {
  name: 'approve',
  description: 'Approve a job, so that it can run',
  shape: command => withJobArgument(command, among.blocked),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.blocked);
    showJob(remote, await remote.request(queueApi.approve, { params: { id } }));
  },
};

export const reject: RemoteSpec = {
  name: 'reject',
  description: 'End a job that needs approval as failed',
  shape: command =>
    withJobArgument(command, among.blocked).option(
      '--reason <text>',
      'reason for the user who submitted the job',
    ),
  async act(remote, [word]) {
    const reason = textOf(remote.flags, 'reason') ?? undefined;
    const query = readInput(queueApi.reject.query, { reason }, { reason: '--reason' });
    const { id } = await findJob(remote, word, among.blocked);
    showJob(remote, await remote.request(queueApi.reject, { params: { id }, query }));
  },
};

/** Creates a command that requests `outputs` from the trainer. The command does not wait until the trainer has created them. */
const trainerAction = (what: RequestKind, description: string, outputs: string): RemoteSpec => ({
  name: what,
  description,
  shape: command => withJobArgument(command, among.running),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.running);
    const job = await remote.request(queueApi.ask, { params: { id }, body: { what } });
    const worker = job.worker_name ?? 'the worker';
    const state = job.duplicate
      ? `Already requested ${outputs} from ${worker} a moment ago`
      : `Requested ${outputs} from ${worker}`;
    remote.terminal.err(`${state}. The job lists the new files when they are uploaded\n`);
    showJob(remote, job);
  },
});

export const save = trainerAction(
  'save',
  'Request a checkpoint from a running job. Works with SimpleTuner, OneTrainer, and configs with $requests',
  'a checkpoint',
);

export const sample = trainerAction(
  'sample',
  'Request samples from a running job. Works with SimpleTuner, OneTrainer, and configs with $requests',
  'samples',
);

export const retry: RemoteSpec = {
  name: 'retry',
  description: 'Submit an ended job again, as a new job with the same config, or all failed jobs of a group',
  shape: command =>
    withYes(
      withWaitOptions(
        withGroup(
          command.addArgument(new JobArgument(among.ended, '[job]')),
          'all failed jobs of this group that were not retried',
        ),
      ),
    ),
  async act(remote, [word]) {
    const group = groupOf(remote);
    if ((group === undefined) === (word === undefined))
      fail(exitCodes.usage, 'Specify a job, or --group GROUP for all failed jobs of a group');
    if (group !== undefined) return retryGroup(remote, group);
    const { id } = await findJob(remote, word, among.ended);
    await concludeSubmission(remote, await remote.request(queueApi.retry, { params: { id } }));
  },
};

/** Retries the failed jobs of a group. Skips jobs that were already retried, so that the user can repeat the command. */
async function retryGroup(remote: Remote, group: string): Promise<void> {
  if (isOn(remote.flags, 'wait') || isOn(remote.flags, 'follow'))
    fail(exitCodes.usage, '--wait and --follow are for a single job');
  const { entries } = await everyPage(remote, { group });
  const retried = new Set(entries.map(({ retry_of: id }) => id));
  const jobs = entries.filter(({ id, status }) => status === 'failed' && !retried.has(id));
  await actOnAll(remote, { jobs, verb: 'Retry', act: retryOne(remote) });
}

export const giveUp: RemoteSpec = {
  name: 'give-up',
  description:
    'Reject further uploads of a completed job whose worker has files left. They stay on the worker',
  shape: command => withJobArgument(command, among.all).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { id, config_name: name } = await findJob(remote, word);
    await remote.confirm(
      `The server will reject all further uploads of job ${id} (${name}). Its files stay on the worker. Continue?`,
    );
    await remote.request(artifactsApi.giveUp, { params: { id } });
    remote.terminal.err(`Stopped waiting for the outstanding files of job ${id}\n`);
  },
};

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete an ended job, with its files and logs',
  shape: command => withYes(withJobArgument(command, among.ended)),
  async act(remote, [word]) {
    const { id, config_name: name } = await findJob(remote, word, among.ended);
    await remote.confirm(`Delete job ${id} (${name}) with its files and logs?`);
    const answer = await remote.request(queueApi.remove, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${id} (${name})`]] });
  },
};
