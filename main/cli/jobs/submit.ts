import { type Command, InvalidArgumentError, Option } from 'commander';
import { queueApi, SubmitRequest } from '../../../protocol/queue-api.ts';
import { FailureCause, OnLostContact, priorities, Target } from '../../../protocol/job.ts';
import { CommandEnd, exitCodes, fail } from '../failure.ts';
import { addLabel, decimal, isOn, timeSpan, wholeNumber, wordList } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { readConfigArgument } from './config-argument.ts';
import { concludeJob, createJobDisplay, followJob } from './follow.ts';

/** The fields of a submission, by the options that fill them. */
const fields = {
  target: 'target',
  gpus: 'gpu_count',
  vram: 'gpu_vram_gb',
  accelerator: 'accelerator',
  label: 'worker_labels',
  priority: 'priority',
  'max-retries': 'max_retries',
  'retry-on': 'retry_on',
  timeout: 'timeout_s',
  'on-lost-contact': 'on_lost_contact',
} as const;

const namesOfFields = {
  config_name: 'CONFIG',
  ...Object.fromEntries(Object.entries(fields).map(([option, field]) => [field, `--${option}`])),
};

export const submit: RemoteSpec = {
  name: 'submit',
  description: 'Submit a job',
  shape: addOptions,
  async act(remote, [word = '']) {
    const { flags, terminal } = remote;
    const wishes = Object.entries(fields).map(([option, field]) => [field, flags[option]] as const);
    const body = readInput(
      SubmitRequest,
      {
        ...readConfigArgument(word),
        ...Object.fromEntries(wishes.filter(([, value]) => value !== undefined)),
      },
      namesOfFields,
    );
    const answer = await remote.ask(queueApi.submit, { body }).catch(hintAtPaths);
    if (!answer.success) {
      return fail(
        exitCodes.refused,
        `The job was not queued: ${answer.reason ?? 'no worker takes it at once'}`,
      );
    }
    const id = answer.job_id;
    const isFollowed = isOn(flags, 'follow');
    if (isFollowed || isOn(flags, 'wait')) {
      terminal.err(`Job ${id} is submitted; Ctrl-C leaves it running\n`);
      const show = isFollowed ? createJobDisplay(terminal) : () => undefined;
      return concludeJob(remote, await followJob(remote, id, show));
    }
    const place = answer.queue_position === null ? null : `${answer.queue_position} in the queue`;
    printOne(remote, {
      answer,
      facts: [
        ['Job', id],
        ['Worker', answer.allocated_worker_id],
        ['Waits', place && [place, answer.reason].filter(part => part !== null).join(': ')],
      ],
    });
  },
};

/** A name may have been meant for a file here. */
function hintAtPaths(cause: unknown): never {
  if (!(cause instanceof CommandEnd) || cause.failure.code !== exitCodes.notFound) throw cause;
  return fail(
    exitCodes.notFound,
    `${cause.failure.message}. A file of this machine is given by its path, such as ./NAME.json`,
  );
}

function addOptions(command: Command): Command {
  return command
    .argument('<config>', 'the name of a config of the orchestrator, or the path of a JSON file')
    .addOption(new Option('--target <target>', 'where it may run (default: auto)').choices(Target.options))
    .option('--gpus <count>', 'GPUs that it needs (default: num_processes of the config)', wholeNumber)
    .option('--vram <gb>', 'GB that each GPU must have, as it is sold', decimal)
    .option('--accelerator <kind>', 'cuda, rocm, mps, ...')
    .option('--label <key=glob>', 'what a label of the worker must match; repeat it for more', addLabel)
    .addOption(
      new Option('--priority <priority>', '0 to 50, or a name (default: normal)')
        .choices(Object.keys(priorities))
        .argParser(priorityOf),
    )
    .option(
      '--max-retries <count>',
      'how often it is tried again when its worker is lost (default: 3)',
      wholeNumber,
    )
    .addOption(
      new Option('--retry-on <causes>', 'after which causes it is tried again besides; with commas')
        .choices(FailureCause.options)
        .argParser(causesOf),
    )
    .option('--timeout <time>', 'the longest that one attempt may run, such as 12h', timeSpan)
    .addOption(
      new Option('--on-lost-contact <what>', 'what the worker does when it reaches nobody').choices(
        OnLostContact.options,
      ),
    )
    .option('--wait', 'wait for its end; exit code 8 when it does not complete')
    .option('--follow', 'the same, with its progress');
}

function causesOf(text: string): readonly string[] {
  const causes: readonly string[] = FailureCause.options;
  const unknown = wordList(text).find(word => !causes.includes(word));
  if (unknown === undefined) return wordList(text);
  throw new InvalidArgumentError(`There is no cause "${unknown}": give some of ${causes.join(', ')}.`);
}

function priorityOf(text: string): number {
  const named = Object.entries(priorities).find(([name]) => name === text.toLowerCase())?.[1];
  if (named !== undefined) return named;
  if (!/^\d{1,2}$/.test(text) || Number(text) > 50)
    throw new InvalidArgumentError(`Give 0 to 50, or one of ${Object.keys(priorities).join(', ')}.`);
  return Number(text);
}
