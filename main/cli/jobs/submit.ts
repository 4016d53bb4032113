import { type Command, Option } from 'commander';
import { queueApi, SubmitRequest } from '../../../protocol/queue-api.ts';
import { FailureCause, OnLostContact, priorities, Target } from '../../../protocol/job.ts';
import { CommandEnd, exitCodes, fail } from '../failure.ts';
import { addLabel, collect, decimal, isOn, timeSpan, wholeNumber, wordsAmong } from '../flags.ts';
import { readInput } from '../input.ts';
import type { Remote } from '../remote.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { bringData } from './bring-data.ts';
import { type ConfigArgument, readConfigArgument } from './config-argument.ts';
import { priorityOf } from './priority.ts';
import { concludeSubmission, concludeTrial, mayWait } from './submission.ts';

/** The request fields by their options. */
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
  'requires-approval': 'requires_approval',
  /** SimpleTuner's name for the option. */
  'for-approval': 'requires_approval',
  'no-wait': 'no_wait',
  'any-gpu': 'any_gpu',
  'idempotency-key': 'idempotency_key',
  'dry-run': 'dry_run',
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
    const { flags } = remote;
    const wishes = Object.entries(fields).map(([option, field]) => [field, flags[option]] as const);
    const argument = await readConfigArgument(word);
    const data = await dataOf(remote, argument, word);
    const body = readInput(
      SubmitRequest,
      {
        ...argument,
        ...(data.length > 0 && { data }),
        ...Object.fromEntries(wishes.filter(([, value]) => value !== undefined)),
      },
      namesOfFields,
    );
    const answer = await remote.ask(queueApi.submit, { body }).catch(hintAtPaths);
    if ('dry_run' in answer) return concludeTrial(remote, answer);
    return concludeSubmission(remote, answer);
  },
};

/** Pushes the data of a local config. A config of the orchestrator names data on the rigs. */
async function dataOf(remote: Remote, argument: ConfigArgument, configPath: string) {
  const { flags } = remote;
  const named = Array.isArray(flags['data']) ? flags['data'].map(String) : [];
  if (!('config' in argument))
    return named.length === 0
      ? []
      : fail(exitCodes.usage, '--data goes with a config file of this machine, such as ./NAME.json');
  if (flags['data'] === false) return [];
  const { config, dataloader = null, files = {} } = argument;
  const isDryRun = isOn(flags, 'dry-run');
  return bringData(remote, { config, dataloader, files }, { configPath, named, isDryRun });
}

/** Adds a hint, because the name may have been meant as a local file. */
function hintAtPaths(cause: unknown): never {
  if (!(cause instanceof CommandEnd) || cause.failure.code !== exitCodes.notFound) throw cause;
  return fail(
    exitCodes.notFound,
    `${cause.failure.message}. A file of this machine is given by its path, such as ./NAME.json`,
  );
}

function addOptions(command: Command): Command {
  return mayWait(
    command
      .argument(
        '<config>',
        'the name of a config of the orchestrator, or the path of a JSON, YAML or TOML file',
      )
      .addOption(
        new Option('-t, --target <target>', 'where it may run (default: auto)').choices(Target.options),
      )
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
          .argParser(wordsAmong('cause', FailureCause.options)),
      )
      .option('--timeout <time>', 'the longest that one attempt may run, such as 12h', timeSpan)
      .addOption(
        new Option('--on-lost-contact <what>', 'what the worker does when it reaches nobody').choices(
          OnLostContact.options,
        ),
      )
      .option('--data <path>', 'push this folder or file too; the config has the same path', collect)
      .option('--no-data', 'push no data: the rigs have it under the same paths')
      .option('--any-gpu', 'on any GPUs, whatever accelerate_visible_devices in the config says')
      .option('--requires-approval', 'hold it until a user with the permission approves it')
      .addOption(new Option('--for-approval', 'the same as --requires-approval').hideHelp())
      .addOption(noWait())
      .option(
        '--idempotency-key <key>',
        'for 24 hours the same key means the same job, however often it is sent',
      )
      .addOption(
        new Option('-n, --dry-run', 'submit nothing: print what would happen, and why').conflicts([
          'wait',
          'follow',
        ]),
      ),
  );
}

/** Commander would treat it as the negation of `--wait`, but the two options are independent. */
function noWait(): Option {
  const option = new Option('--no-wait', 'do not queue it: exit code 7 unless a worker takes it at once');
  option.negate = false;
  return option;
}
