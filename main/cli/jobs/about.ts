import { type Command, InvalidArgumentError, Option } from 'commander';
import { JobEdit } from '../../../protocol/job-about.ts';
import { runsApi } from '../../../protocol/runs-api.ts';
import { collect, readInput } from '../flags.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { among, findJob, withJobArgument } from './find.ts';
import { jobFacts } from './text.ts';

/** The request field of each option that describes a new job. */
export const aboutFields = { name: 'name', notes: 'notes', tag: 'tags', group: 'group' } as const;

export const withAboutOptions = (command: Command): Command =>
  command
    .option('--name <name>', 'name of the job for lists (default: the name of the config)')
    .option('--tag <word>', 'word to find the job by; repeatable', collect)
    .option('--group <word>', 'group of jobs that belong together')
    .option('--notes <text>', 'notes about the job');

const fields = {
  name: '--name',
  notes: '--notes',
  group: '--group',
  add_tags: '--tag',
  remove_tags: '--remove-tag',
};

export const edit: RemoteSpec = {
  name: 'edit',
  description: 'Change the name, notes, tags or group of a job. An empty text removes name, notes or group',
  examples: [
    'trainyard jobs edit j_2f41 --name "flowers, low rate" --tag baseline',
    "trainyard jobs edit flowers --remove-tag baseline --notes ''",
  ],
  shape: command =>
    withJobArgument(command, among.all)
      .option('--name <name>', 'name of the job for lists')
      .option('--notes <text>', 'notes about the job')
      .option('--group <word>', 'group of jobs that belong together')
      .addOption(new Option('--tag <word>', 'tag to add; repeatable').argParser(collect))
      .addOption(new Option('--remove-tag <word>', 'tag to remove; repeatable').argParser(collect)),
  async act(remote, [word]) {
    const { flags } = remote;
    const textOrNull = (name: string): unknown => (flags[name] === '' ? null : flags[name]);
    const body = readInput(
      JobEdit,
      {
        name: textOrNull('name'),
        notes: textOrNull('notes'),
        group: textOrNull('group'),
        add_tags: flags['tag'],
        remove_tags: flags['remove-tag'],
      },
      fields,
    );
    const { id } = await findJob(remote, word);
    const answer = await remote.request(runsApi.edit, { params: { id }, body });
    printOne(remote, { answer, facts: [...jobFacts(answer), ['Notes', answer.notes]] });
  },
};

type Axis = Readonly<{ key: string; values: readonly unknown[] }>;

/** Collects `--sweep KEY=VALUE,VALUE`. `parse` parses the values as a YAML list. */
export const addAxis =
  (parse: (text: string) => unknown) =>
  (text: string, before: readonly Axis[] = []): readonly Axis[] => {
    const at = text.indexOf('=');
    if (at < 1) throw new InvalidArgumentError('Use the form KEY=VALUE,VALUE.');
    const values = parse(`[${text.slice(at + 1)}]`);
    const isList = Array.isArray(values) && values.every(each => typeof each !== 'object' || each === null);
    if (!isList || values.length === 0)
      throw new InvalidArgumentError('Give single values separated by commas, such as 8,16 or "a, b",c.');
    return [...before, { key: text.slice(0, at), values }];
  };
