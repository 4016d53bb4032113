import { Argument, InvalidArgumentError } from 'commander';
import { queueApi } from '../../../protocol/queue-api.ts';
import { priorities } from '../../../protocol/job.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, takesJob } from './argument.ts';
import { findJob, showJob } from './find.ts';

/** Parses a number, or a priority name in any case. */
export function priorityOf(text: string): number {
  const named = Object.entries(priorities).find(([name]) => name === text.toLowerCase())?.[1];
  if (named !== undefined) return named;
  if (!/^\d{1,2}$/.test(text) || Number(text) > 50)
    throw new InvalidArgumentError(`Give 0 to 50, or one of ${Object.keys(priorities).join(', ')}.`);
  return Number(text);
}

export const priority: RemoteSpec = {
  name: 'priority',
  description: 'Change the priority of a pending job',
  shape: command =>
    takesJob(command, among.pending).addArgument(
      new Argument('<priority>', '0 to 50, or a name').choices(Object.keys(priorities)).argParser(priorityOf),
    ),
  async act(remote, [word, wanted = '']) {
    const body = { priority: priorityOf(wanted) };
    const { id } = await findJob(remote, word, among.pending);
    showJob(remote, await remote.ask(queueApi.setPriority, { params: { id }, body }));
  },
};

export const top: RemoteSpec = {
  name: 'top',
  description: 'Move a pending job to the top of the queue',
  shape: command => takesJob(command, among.pending),
  async act(remote, [word]) {
    const { id } = await findJob(remote, word, among.pending);
    showJob(remote, await remote.ask(queueApi.moveToTop, { params: { id } }));
  },
};
