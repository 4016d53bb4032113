import { type Command, Option } from 'commander';
import { FailureCause, OnLostContact, priorities, Target } from '../../../protocol/job.ts';
import { exitCodes, fail } from '../failure.ts';
import { addLabel, collect, decimal, isOn, timeSpan, wholeNumber, wordsAmong } from '../flags.ts';
import type { Remote } from '../remote.ts';
import { priorityOf } from './change.ts';
import type { ConfigArgument } from './config-argument.ts';
import { pushLocalData } from './push-data.ts';

/** The request field of each option that decides where and how a job runs. */
export const requirementFields = {
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
  'requires-approval': 'requires_approval',
  'any-gpu': 'any_gpu',
} as const;

export const withRequirementOptions = (command: Command): Command =>
  command
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
    .option('--any-gpu', 'ignore accelerate_visible_devices in the config')
    .option('--requires-approval', 'hold the job until a user with permission approves it');

export const withDataOptions = (command: Command): Command =>
  command
    .option(
      '--data <path>',
      'also push this folder or file; the config must use the same path; repeatable',
      collect,
    )
    .option('--no-data', 'do not push data, because the rigs have it at the same paths');

/** Pushes the data of a local config, and returns its versions. Configs on the orchestrator name paths on the rigs. */
export async function dataOf(remote: Remote, argument: ConfigArgument, configPath: string) {
  const { flags } = remote;
  const givenData = Array.isArray(flags['data']) ? flags['data'].map(String) : [];
  if (!('config' in argument))
    return givenData.length === 0
      ? []
      : fail(exitCodes.usage, '--data needs a local config file, such as ./NAME.json');
  if (flags['data'] === false) return [];
  const { config, dataloader = null, files = {} } = argument;
  const isDryRun = isOn(flags, 'dry-run');
  return pushLocalData(remote, { config, dataloader, files }, { configPath, named: givenData, isDryRun });
}
