import type { Command } from 'commander';
import { configsApi, type ConfigView } from '../../protocol/configs-api.ts';
import { exitCodes, fail } from './failure.ts';
import { isOn, textOf } from './flags.ts';
import { readConfigWithFiles } from './jobs/config-argument.ts';
import { readConfig } from './jobs/config-source.ts';
import { printOne, printRows } from './output.ts';
import type { RemoteSpec } from './remote-command.ts';
import type { Remote } from './remote.ts';
import { type Column, plain } from './table.ts';
import { timeText } from './time.ts';

/** Adds a config argument. Completion recognises the argument by its name. */
const withConfigArgument = (command: Command): Command =>
  command.argument('<config-name>', 'name of the config');

/** Ends the command when the name cannot be part of a URL. */
function configName(word = ''): string {
  if (word !== '' && word !== '.' && word !== '..') return word;
  return fail(exitCodes.usage, 'CONFIG-NAME: give the name of a config, such as NAME for NAME.json');
}

const columns: readonly Column<ConfigView>[] = [
  { title: 'NAME', text: ({ name }) => name },
  {
    title: 'MODEL',
    text: config => [config.model_family, config.model_type].filter(Boolean).join(' ') || '-',
    importance: 4,
  },
  {
    title: 'GPUS',
    text: ({ gpu_count: count, devices }) => devices?.join(',') ?? String(count ?? '-'),
    importance: 2,
  },
  { title: 'CHANGED', text: ({ changed_at: at }, isScreen) => timeText(at, isScreen), importance: 3 },
  { title: 'FILE', text: ({ file }) => file, importance: 1 },
  { title: 'PROBLEM', text: ({ problem }) => problem ?? '', minWidth: 24 },
];

const list: RemoteSpec = {
  name: 'list',
  description: 'List configs',
  shape: command =>
    command
      .option('--search <text>', 'only configs with this text in their name')
      .option('--all', 'list all results'),
  async act(remote) {
    const { flags, terminal } = remote;
    const q = textOf(flags, 'search') ?? undefined;
    const answer = await fetchConfigs(remote, q, isOn(flags, 'all'));
    const none =
      q === undefined
        ? `No configs. To add one, run "trainyard configs put NAME FILE", or save NAME.json in ${answer.folder}`
        : 'No matching configs';
    printRows(remote, { answer, rows: answer.entries, columns, none });
    if (answer.next_cursor !== null) terminal.err('Not all results are shown. To list all, use --all\n');
  },
};

/** Fetches the first page, or all pages as one if `isAll`. */
async function fetchConfigs(remote: Remote, q: string | undefined, isAll: boolean) {
  const limit = isAll ? 500 : undefined;
  const first = await remote.request(configsApi.list, { query: { q, limit } });
  const entries = [...first.entries];
  let cursor = first.next_cursor;
  while (isAll && cursor !== null) {
    const page = await remote.request(configsApi.list, { query: { q, limit, cursor } });
    entries.push(...page.entries);
    cursor = page.next_cursor;
  }
  return { ...first, entries, next_cursor: cursor };
}

const get: RemoteSpec = {
  name: 'get',
  description: 'Print a config as JSON',
  shape: withConfigArgument,
  async act(remote, [word]) {
    const answer = await remote.request(configsApi.get, { params: { name: configName(word) } });
    const isJson = remote.flags['output'] === undefined;
    printOne({ ...remote, flags: { ...remote.flags, json: isJson } }, { answer, facts: [] });
  },
};

const put: RemoteSpec = {
  name: 'put',
  description: 'Save a local file as a config, with the files that it names',
  examples: [
    'trainyard configs put my-config ./config.json',
    'trainyard configs put my-config ./config.yaml --replace',
  ],
  shape: command =>
    withConfigArgument(command)
      .argument('<file>', 'JSON, YAML or TOML file, or - for standard input')
      .option('--replace', 'replace an existing config')
      .option('--config-only', 'send only the config, because the server has the files that it names'),
  async act(remote, [word, file = '']) {
    const name = configName(word);
    const headers: Record<string, string> = isOn(remote.flags, 'replace') ? {} : { 'if-none-match': '*' };
    const { config, files } = isOn(remote.flags, 'config-only')
      ? { ...(await readConfig(file, remote.terminal)), files: {} }
      : await readConfigWithFiles(file, remote.terminal);
    const params = { name };
    const answer =
      Object.keys(files).length === 0
        ? await remote.request(configsApi.put, { params, body: config, headers })
        : await remote.request(configsApi.putWithFiles, { params, body: { config, files }, headers });
    printOne(remote, {
      answer,
      facts: [
        [answer.created ? 'Created' : 'Replaced', answer.name],
        ['File', answer.file],
        ...Object.keys(files).map(path => ['Also sent', path] as const),
      ],
    });
    for (const warning of answer.warnings)
      remote.terminal.err(`Jobs cannot use this config yet: ${plain(warning)}\n`);
  },
};

const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a config. Submitted jobs keep their copy',
  shape: command => withConfigArgument(command).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const name = configName(word);
    await remote.confirm(`Delete config ${name}? No new jobs can use it.`);
    const answer = await remote.request(configsApi.remove, { params: { name } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${answer.file})`]] });
  },
};

/** Subcommands of `trainyard configs`, in the order of the help. */
export const configCommands: readonly RemoteSpec[] = [list, get, put, remove];
