import { type Command, Option } from 'commander';
import { AfterOn } from '../../../protocol/job-dependencies.ts';
import { FailureCause, OnLostContact, priorities, Target } from '../../../protocol/job.ts';
import { queueApi, SubmitRequest } from '../../../protocol/queue-api.ts';
import { CommandEnd, exitCodes, fail } from '../failure.ts';
import { addLabel, collect, decimal, isOn, readInput, timeSpan, wholeNumber, wordsAmong } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { aboutFields, withAboutOptions } from './about.ts';
import { priorityOf } from './change.ts';
import { type ConfigArgument, readConfigArgument } from './config-argument.ts';
import { parentsOf, withParentOptions } from './parents.ts';
import { pushLocalData } from './push-data.ts';
import { concludeSubmission, concludeDryRun, withWaitOptions } from './submission.ts';
import { submitSweep, withSweepOption } from './sweep.ts';

/** The request field of each option. */
const fields = {
  ...aboutFields,
  target: 'target',
  gpus: 'gpu_count',
  nodes: 'num_nodes',
  vram: 'gpu_vram_gb',
  accelerator: 'accelerator',
  label: 'worker_labels',
  priority: 'priority',
  'max-retries': 'max_retries',
  'retry-on': 'retry_on',
  timeout: 'timeout_s',
  'on-lost-contact': 'on_lost_contact',
  'after-on': 'after_on',
  'requires-approval': 'requires_approval',
  /** SimpleTuner's name for --requires-approval. */
  'for-approval': 'requires_approval',
  'no-wait': 'no_wait',
  'any-gpu': 'any_gpu',
  'idempotency-key': 'idempotency_key',
  'dry-run': 'dry_run',
} as const;

const namesOfFields = {
  config_name: 'CONFIG',
  after: '--after',
  inputs: '--input',
  ...Object.fromEntries(Object.entries(fields).map(([option, field]) => [field, `--${option}`])),
};

export const submit: RemoteSpec = {
  name: 'submit',
  description: 'Submit a job',
  examples: [
    'trainyard jobs submit my-config --gpus 1 --follow',
    "trainyard jobs submit ./config.json --label 'gpu_type=a100*' --timeout 12h",
    'trainyard jobs submit my-eval --after flux-base',
    "trainyard jobs submit my-style --input 'lora=flux-base:checkpoint best'",
    'trainyard jobs submit my-config --sweep learning_rate=1e-4,3e-4 --sweep rank=8,16',
  ],
  shape: addOptions,
  async act(remote, [word = '']) {
    const { flags } = remote;
    const values = Object.entries(fields).map(([option, field]) => [field, flags[option]] as const);
    const argument = await readConfigArgument(word, remote.terminal);
    const data = await dataOf(remote, argument, word);
    const parents = await parentsOf(remote);
    const request = {
      ...argument,
      ...parents,
      ...(data.length > 0 && { data }),
      ...Object.fromEntries(values.filter(([, value]) => value !== undefined)),
    };
    if (flags['sweep'] !== undefined) return submitSweep(remote, request, namesOfFields).catch(hintAtPaths);
    const body = readInput(SubmitRequest, request, namesOfFields);
    const answer = await remote.request(queueApi.submit, { body }).catch(hintAtPaths);
    if ('dry_run' in answer) return concludeDryRun(remote, answer);
    return concludeSubmission(remote, answer);
  },
};

/** Pushes the data of a local config. The paths in a config of the orchestrator refer to data on the rigs. */
async function dataOf(remote: Remote, argument: ConfigArgument, configPath: string) {
  const { flags } = remote;
  const named = Array.isArray(flags['data']) ? flags['data'].map(String) : [];
  if (!('config' in argument))
    return named.length === 0
      ? []
      : fail(exitCodes.usage, '--data needs a local config file, such as ./NAME.json');
  if (flags['data'] === false) return [];
  const { config, dataloader = null, files = {} } = argument;
  const isDryRun = isOn(flags, 'dry-run');
  return pushLocalData(remote, { config, dataloader, files }, { configPath, named, isDryRun });
}

/** Adds a hint to the error, because the user may have meant a local file. */
function hintAtPaths(cause: unknown): never {
  if (!(cause instanceof CommandEnd) || cause.failure.code !== exitCodes.notFound) throw cause;
  return fail(
    exitCodes.notFound,
    `${cause.failure.message}. For a local file, give its path, such as ./NAME.json`,
  );
}

function addOptions(command: Command): Command {
  return withWaitOptions(
    withParentOptions(withSweepOption(withAboutOptions(withConfigArgument(command))))
      .addOption(
        new Option('-t, --target <target>', 'where the job may run (default: auto)').choices(Target.options),
      )
      .option('--gpus <count>', 'number of GPUs (default: num_processes of the config)', wholeNumber)
      .option('--nodes <count>', 'number of machines that train together (default: 1)', wholeNumber)
      .option('--vram <gb>', 'minimum memory of each GPU, in GB (nominal size)', decimal)
      .option('--accelerator <kind>', 'kind of GPU: cuda, rocm, mps, ...')
      .option('--label <key=glob>', 'label that the worker must have; repeatable', addLabel)
      .addOption(
        new Option('--priority <priority>', '0 to 50, or a name (default: normal)')
          .choices(Object.keys(priorities))
          .argParser(priorityOf),
      )
      .option(
        '--max-retries <count>',
        'maximum number of retries after a lost worker (default: 3)',
        wholeNumber,
      )
      .addOption(
        new Option('--retry-on <causes>', 'other failures to retry after, separated by commas')
          .choices(FailureCause.options)
          .argParser(wordsAmong('cause', FailureCause.options)),
      )
      .option('--timeout <time>', 'time limit of each attempt, such as 12h', timeSpan)
      .addOption(
        new Option(
          '--on-lost-contact <what>',
          'what the worker does when it loses contact with the orchestrator',
        ).choices(OnLostContact.options),
      )
      .addOption(
        new Option(
          '--after-on <end>',
          'which end of those jobs to wait for: success, or any end (default: success)',
        ).choices(AfterOn.options),
      )
      .option(
        '--data <path>',
        'also push this folder or file; the config must use the same path; repeatable',
        collect,
      )
      .option('--no-data', 'do not push data, because the rigs have it at the same paths')
      .option('--any-gpu', 'ignore accelerate_visible_devices in the config')
      .option('--requires-approval', 'hold the job until a user with permission approves it')
      .addOption(new Option('--for-approval', 'the same as --requires-approval').hideHelp())
      .addOption(noWait())
      .option('--idempotency-key <key>', 'submit only once per key within 24 hours')
      .addOption(
        new Option('-n, --dry-run', 'print what would happen, without submitting').conflicts([
          'wait',
          'follow',
        ]),
      ),
  );
}

const withConfigArgument = (command: Command): Command =>
  command.argument(
    '<config>',
    'name of a config on the orchestrator, path of a JSON, YAML or TOML file, or - for standard input',
  );

/** Creates the option by hand: commander would treat it as the negation of `--wait`, but the two are independent. */
function noWait(): Option {
  const option = new Option(
    '--no-wait',
    'do not queue the job; exit with code 7 unless a worker can start it now',
  );
  option.negate = false;
  return option;
}
