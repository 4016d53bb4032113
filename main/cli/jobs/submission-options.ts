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
      new Option(
        '-t, --target <target>',
        'auto: any machine; worker: any but the machine of the server; local: only the machine of the server (default: auto)',
      ).choices(Target.options),
    )
    .option(
      '--gpus <count>',
      'number of GPUs on each machine (default: num_processes of the config)',
      wholeNumber,
    )
    .option('--nodes <count>', 'number of machines that train together (default: 1)', wholeNumber)
    .option('--vram <gb>', 'minimum memory of each GPU, in GB (nominal size)', decimal)
    .option('--accelerator <kind>', 'kind of GPU: cuda, rocm, mps, ...')
    .option('--label <key=glob>', 'label that the worker must have; repeatable', addLabel)
    .addOption(
      new Option(
        '--priority <priority>',
        '0 to 50, or a name; higher priorities go first (default: normal, which is 10)',
      )
        .choices(Object.keys(priorities))
        .argParser(priorityOf),
    )
    .option('--max-retries <count>', 'maximum number of retries (default: 3)', wholeNumber)
    .addOption(
      new Option(
        '--retry-on <causes>',
        'also retry after these failures, not only after worker_lost and preempted; separated by commas',
      )
        .choices(FailureCause.options)
        .argParser(wordsAmong('cause', FailureCause.options)),
    )
    .option(
      '--timeout <time>',
      'time limit of each attempt, such as 30m or 12h; a number without a unit counts seconds (default: no limit)',
      timeSpan,
    )
    .addOption(
      new Option(
        '--on-lost-contact <what>',
        'whether the worker continues or stops the training when it loses contact with the orchestrator (default: continue)',
      ).choices(OnLostContact.options),
    )
    .option('--any-gpu', 'ignore accelerate_visible_devices in the config')
    .option('--requires-approval', 'hold the job until a user with permission approves it');

export const withDataOptions = (command: Command): Command =>
  command
    .option(
      '--data <path>',
      'push this folder or file besides the data that a local config names; the config must use the same path; repeatable',
      collect,
    )
    .option('--no-data', 'do not push data, because the workers have it at the same paths');

/**
 * Pushes the data of a local config, and returns the pushed versions. Pushes nothing for a config on the orchestrator, because
 * its paths are on the rigs.
 */
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
