import { type Command, Option } from 'commander';
import type { ValueOf } from '../../../protocol/client.ts';
import { AfterOn } from '../../../protocol/job-dependencies.ts';
import { queueApi, SubmitRequest } from '../../../protocol/queue-api.ts';
import { CommandEnd, exitCodes, fail } from '../failure.ts';
import { readInput } from '../flags.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import { aboutFields, withAboutOptions } from './about.ts';
import { submitBatch } from './batch.ts';
import { readConfigArgument } from './config-argument.ts';
import { submitFromTemplate, sweepTemplate, templateNamed, withTemplateOptions } from './from-template.ts';
import { parentsOf, withParentOptions } from './parents.ts';
import { dataOf, requirementFields, withDataOptions, withRequirementOptions } from './submission-options.ts';
import { concludeSubmission, concludeDryRun, withWaitOptions } from './submission.ts';
import { submitSweep, withSweepOption } from './sweep.ts';

/** The request field of each option. */
const fields = {
  ...aboutFields,
  ...requirementFields,
  'after-on': 'after_on',
  /** SimpleTuner's name for --requires-approval. */
  'for-approval': 'requires_approval',
  'no-wait': 'no_wait',
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
  description: 'Submit a job, or one for each config',
  examples: [
    'trainyard jobs submit my-config --gpus 1 --follow',
    "trainyard jobs submit ./config.json --label 'gpu_type=a100*' --timeout 12h",
    'trainyard jobs submit a.json b.json c.json --group night',
    'trainyard jobs submit my-eval --after flux-base',
    "trainyard jobs submit my-style --input 'lora=flux-base:checkpoint best'",
    'trainyard jobs submit my-config --sweep learning_rate=1e-4,3e-4 --sweep rank=8,16',
    'trainyard jobs submit --template flux-lora --set learning_rate=2e-4',
    'trainyard jobs submit --template flux-lora --set epochs=10 --sweep learning_rate=1e-4,3e-4',
  ],
  shape: addOptions,
  async act(remote, [configWord, ...others]) {
    const { flags } = remote;
    const template = templateNamed(remote, configWord);
    if (template !== null) return fromTemplate(remote, template);
    const word = configWord ?? '';
    const values = Object.entries(fields).map(([option, field]) => [field, flags[option]] as const);
    const parents = await parentsOf(remote);
    const requestFor = async (config: string) => {
      const argument = await readConfigArgument(config, remote.terminal);
      const data = await dataOf(remote, argument, config);
      return {
        ...argument,
        ...parents,
        ...(data.length > 0 && { data }),
        ...Object.fromEntries(values.filter(([, value]) => value !== undefined)),
      };
    };
    if (others.length > 0) return submitBatch(remote, [word, ...others], requestFor).catch(hintAtPaths);
    const request = await requestFor(word);
    if (flags['sweep'] !== undefined) return submitSweep(remote, request, namesOfFields).catch(hintAtPaths);
    const body = readInput(SubmitRequest, request, namesOfFields);
    const answer = await remote.request(queueApi.submit, { body }).catch(hintAtPaths);
    return conclude(remote, answer);
  },
};

async function fromTemplate(remote: Remote, name: string): Promise<void> {
  const given = { parents: await parentsOf(remote), others: [...Object.keys(fields), 'data'] };
  if (remote.flags['sweep'] !== undefined) return sweepTemplate(remote, name, given);
  return conclude(remote, await submitFromTemplate(remote, name, given));
}

const conclude = (remote: Remote, answer: ValueOf<typeof queueApi.submit>): Promise<void> | void =>
  'dry_run' in answer ? concludeDryRun(remote, answer) : concludeSubmission(remote, answer);

/** Adds a hint to a "not found" error, because the user may have meant a local file. */
function hintAtPaths(cause: unknown): never {
  if (!(cause instanceof CommandEnd) || cause.failure.code !== exitCodes.notFound) throw cause;
  return fail(
    exitCodes.notFound,
    `${cause.failure.message}. For a local file, give its path, such as ./NAME.json`,
  );
}

function addOptions(command: Command): Command {
  return withWaitOptions(
    withDataOptions(
      withRequirementOptions(
        withParentOptions(
          withTemplateOptions(withSweepOption(withAboutOptions(withConfigArgument(command)))),
        ),
      ),
    )
      .addOption(
        new Option(
          '--after-on <end>',
          'how the jobs of --after and --input must end: success, or end for any outcome (default: success)',
        ).choices(AfterOn.options),
      )
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
    '[config...]',
    'name of a config on the orchestrator, path of a JSON, YAML or TOML file, or - for standard input; several submit all jobs or none',
  );

/** Makes `--no-wait` independent: by default, commander treats it as the negation of `--wait`. */
function noWait(): Option {
  const option = new Option(
    '--no-wait',
    'reject the job with exit code 7 unless a worker can start it now (not the opposite of --wait)',
  );
  option.negate = false;
  return option;
}
