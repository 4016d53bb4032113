import type { Command } from 'commander';
import { configsApi } from '../../../protocol/configs-api.ts';
import type { TemplateView } from '../../../protocol/template.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { templatesApi } from '../../../protocol/templates-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn, readInput, textOf } from '../flags.ts';
import { readConfigArgument } from '../jobs/config-argument.ts';
import { among, findJob } from '../jobs/find.ts';
import {
  dataOf,
  requirementFields,
  withDataOptions,
  withRequirementOptions,
} from '../jobs/submission-options.ts';
import { printOne, printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column, Fact } from '../table.ts';
import { timeText } from '../time.ts';
import { parameterText, readParameters, withParameterOptions } from './parameters.ts';

/** Adds a template argument. Completion recognises the argument by its name. */
const withTemplate = (command: Command): Command => command.argument('<template>', 'name of the template');

const columns: readonly Column<TemplateView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'TRAINER', text: ({ trainer }) => trainer ?? '-', importance: 3 },
  { title: 'CONFIG', text: ({ config_name: name }) => name ?? '-', importance: 2 },
  {
    title: 'ASKS FOR',
    text: ({ parameters }) => parameters.map(({ key }) => key).join(' ') || '-',
    minWidth: 20,
  },
  { title: 'CHANGED', text: ({ changed_at: at }, isScreen) => timeText(at, isScreen), importance: 4 },
  { title: 'BY', text: ({ changed_by: user }) => user, importance: 1 },
];

const list: RemoteSpec = {
  name: 'list',
  isDefault: true,
  description: 'List templates and the values that they ask for',
  async act(remote) {
    const answer = await remote.request(templatesApi.list);
    const none = 'No templates. To save one, run "trainyard templates save NAME CONFIG --ask KEY"';
    printRows(remote, { answer, rows: answer.templates, columns, none });
  },
};

const factsOf = (template: TemplateView): readonly Fact[] => [
  ['Template', template.name],
  ['Description', template.description],
  ['Config', template.config_name],
  ['Trainer', template.trainer],
  ['Asks for', template.parameters.map(parameterText).join('\n') || 'nothing'],
  ['Changed', `${timeText(template.changed_at, true)} by ${template.changed_by}`],
];

const show: RemoteSpec = {
  name: 'show',
  description: 'Show a template: the values that it asks for, and with --json its submission',
  shape: withTemplate,
  async act(remote, [name = '']) {
    const answer = await remote.request(templatesApi.get, { params: { template: name } });
    printOne(remote, { answer, facts: factsOf(answer) });
  },
};

const save: RemoteSpec = {
  name: 'save',
  description: 'Save a config or a job as a template',
  examples: [
    'trainyard templates save flux-lora ./config.json --gpus 1 --ask learning_rate=1e-4 --ask max_train_steps',
    'trainyard templates save flux-lora --job j_2f41 --ask learning_rate --ask job:gpu_count=1 --replace',
    'trainyard jobs submit --template flux-lora --set learning_rate=2e-4 --set max_train_steps=1000',
  ],
  shape: command =>
    withDataOptions(withRequirementOptions(withParameterOptions(withTemplate(command))))
      .argument(
        '[config]',
        'name of a config on the orchestrator, path of a local file, or - for standard input',
      )
      .option('--job <job>', 'copy config and requirements of this job')
      .option('--description <text>', 'purpose of the template')
      .option('--replace', 'replace the template of this name'),
  async act(remote, [name = '', word]) {
    const source = await sourceOf(remote, word);
    const parameters = await readParameters(remote, source.read);
    const description = textOf(remote.flags, 'description');
    const template = {
      name,
      ...source.body,
      ...(description !== null && { description }),
      ...(parameters !== null && { parameters }),
    };
    const body = readInput(templatesApi.create.body, template, names);
    const { flags, terminal } = remote;
    const old = isOn(flags, 'replace') ? await findTemplate(remote, name) : null;
    const answer =
      old === null
        ? await remote.request(templatesApi.create, { body })
        : await remote.request(templatesApi.replace, {
            params: { template: name },
            body: {
              ...body,
              description: description ?? old.description,
              parameters: parameters === null ? [...old.parameters] : body.parameters,
            },
          });
    printOne(remote, { answer, facts: factsOf(answer) });
    terminal.err(`To submit from it, run "trainyard jobs submit --template ${quoted(answer.name)}"\n`);
  },
};

const quoted = (name: string): string => (/^[\w.@+-]+$/.test(name) ? name : `'${name}'`);

const names = {
  name: 'TEMPLATE',
  submission: 'CONFIG',
  job_id: '--job',
  parameters: '--ask',
  description: '--description',
};

const findTemplate = async (remote: Remote, name: string): Promise<TemplateView | null> =>
  (await remote.request(templatesApi.list)).templates.find(each => each.name === name) ?? null;

/** Returns the source of a template, and a function that reads its config, from which parameter types are guessed. */
async function sourceOf(remote: Remote, word: string | undefined) {
  const { flags } = remote;
  const job = textOf(flags, 'job');
  const givenRequirements = Object.entries(requirementFields).filter(
    ([option]) => flags[option] !== undefined,
  );
  if ((job === null) === (word === undefined))
    return fail(exitCodes.usage, 'Give either a config or --job, the source of the template');
  if (job !== null) {
    const [refused] = givenRequirements;
    if (refused !== undefined)
      fail(exitCodes.usage, `--${refused[0]} does not go with --job, because the job decides about it`);
    const { id } = await findJob(remote, job, among.all);
    const read = () => remote.request(queueApi.config, { params: { id } });
    return { body: { job_id: id }, read: async () => bundleOf(await read()) };
  }
  const argument = await readConfigArgument(word ?? '', remote.terminal);
  const data = await dataOf(remote, argument, word ?? '');
  const submission = {
    ...argument,
    ...(data.length > 0 && { data }),
    ...Object.fromEntries(givenRequirements.map(([option, field]) => [field, flags[option]])),
  };
  const read = async () =>
    'config' in argument
      ? bundleOf(argument)
      : bundleOf({
          config: await remote.request(configsApi.get, { params: { name: argument.config_name } }),
        });
  return { body: { submission }, read };
}

interface ConfigWithFiles {
  readonly config: Readonly<Record<string, unknown>>;
  readonly dataloader?: unknown;
  readonly files?: Readonly<Record<string, string>> | undefined;
}

const bundleOf = ({ config, dataloader, files }: ConfigWithFiles) => ({
  config,
  ...(typeof dataloader === 'object' && dataloader !== null && { dataloader: { ...dataloader } }),
  ...(files !== undefined && { files: { ...files } }),
});

const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a template. Its jobs stay',
  shape: command => withTemplate(command).option('--yes', 'skip the confirmation'),
  async act(remote, [name = '']) {
    await remote.confirm(`Delete template ${name}?`);
    const answer = await remote.request(templatesApi.remove, { params: { template: name } });
    printOne(remote, { answer, facts: [['Deleted', answer.name]] });
  },
};

/** Subcommands of `trainyard templates`, in the order of the help. */
export const templateCommands: readonly RemoteSpec[] = [list, show, save, remove];
