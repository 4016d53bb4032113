import type { Command } from 'commander';
import { notificationEvents, type RuleView } from '../../../protocol/notification.ts';
import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { numberOf, readInput, textOf, wholeNumber, wordsAmong } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column, Fact } from '../table.ts';
import { findChannel } from './channels.ts';

const columns: readonly Column<RuleView>[] = [
  { title: 'ID', text: ({ rule_id: id }) => id },
  { title: 'CHANNEL', text: ({ channel_name: name }) => name },
  { title: 'EVENTS', text: ({ events }) => events.join(' '), minWidth: 20 },
  { title: 'USER', text: ({ user }) => user ?? 'all', importance: 2 },
  { title: 'TAG', text: ({ tag }) => tag ?? 'all', importance: 2 },
  { title: 'ENABLED', text: ({ enabled }) => (enabled ? 'yes' : 'no'), importance: 3 },
];

const factsOf = (rule: RuleView): readonly Fact[] => [
  ['Rule', rule.rule_id],
  ['Channel', rule.channel_name],
  ['Events', rule.events.join(', ')],
  ['User', rule.user ?? 'all'],
  ['Tag', rule.tag ?? 'all'],
  ['Stalled after', `${rule.stalled_minutes} min`],
  ['Enabled', rule.enabled ? 'yes' : 'no'],
];

const withRule = (command: Command): Command =>
  command
    .option(
      '--on <events>',
      `events, separated by commas: ${notificationEvents.join(', ')}`,
      wordsAmong('event', notificationEvents),
    )
    .option('--user <name>', 'only jobs of this user; "all" for all users')
    .option('--tag <tag>', 'only jobs with this tag; "all" for all jobs')
    .option(
      '--stalled-minutes <count>',
      'minutes without a new step for no_progress; 30 in a new rule',
      wholeNumber,
    )
    .option('--enable', 'send what matches')
    .option('--disable', 'keep the rule, but send nothing');

type Changes = Readonly<Record<string, unknown>>;

/** Returns only the fields that the flags change. */
function changesOf({ flags }: Remote): Changes {
  const user = textOf(flags, 'user');
  const tag = textOf(flags, 'tag');
  const minutes = numberOf(flags, 'stalled-minutes');
  return {
    ...(flags['on'] !== undefined && { events: flags['on'] }),
    ...(user !== null && { user: user === 'all' ? null : user }),
    ...(tag !== null && { tag: tag === 'all' ? null : tag }),
    ...(minutes !== null && { stalled_minutes: minutes }),
    ...(flags['enable'] === true && { enabled: true }),
    ...(flags['disable'] === true && { enabled: false }),
  };
}

const labels = { events: '--on', user: '--user', tag: '--tag', stalled_minutes: '--stalled-minutes' };
const parse = (value: Changes) => readInput(notificationsApi.createRule.body, value, labels);

async function findRule(remote: Remote, word = ''): Promise<RuleView> {
  const { rules } = await remote.request(notificationsApi.listRules);
  return (
    rules.find(({ rule_id: id }) => id === word) ??
    fail(
      exitCodes.notFound,
      `No notification rule "${word}". To list rules, run "trainyard notifications rules list"`,
    )
  );
}

const list: RemoteSpec = {
  name: 'list',
  isDefault: true,
  description: 'List rules',
  async act(remote) {
    const answer = await remote.request(notificationsApi.listRules);
    const none =
      'No rules. To create one, run "trainyard notifications rules create CHANNEL --on job_failed"';
    printRows(remote, { answer, rows: answer.rules, columns, none });
  },
};

const create: RemoteSpec = {
  name: 'create',
  description: 'Create a rule: which events go to a channel',
  examples: ['trainyard notifications rules create team --on job_failed,worker_lost'],
  shape: command => withRule(command.argument('<channel>', 'channel id or name')),
  async act(remote, [word]) {
    const { channel_id } = await findChannel(remote, word);
    const body = parse({ channel_id, ...changesOf(remote) });
    const answer = await remote.request(notificationsApi.createRule, { body });
    printOne(remote, { answer, facts: factsOf(answer) });
  },
};

const set: RemoteSpec = {
  name: 'set',
  description: 'Change a rule, and keep its other settings',
  shape: command => withRule(command.argument('<rule>', 'rule id')),
  async act(remote, [word]) {
    const changes = changesOf(remote);
    if (Object.keys(changes).length === 0)
      fail(exitCodes.usage, 'Give at least one setting to change, such as --on');
    const { rule_id: id, channel_name: _name, ...rule } = await findRule(remote, word);
    const answer = await remote.request(notificationsApi.updateRule, {
      params: { id },
      body: parse({ ...rule, ...changes }),
    });
    printOne(remote, { answer, facts: factsOf(answer) });
  },
};

const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a rule',
  shape: command => command.argument('<rule>', 'rule id').option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { rule_id: id, channel_name: name } = await findRule(remote, word);
    await remote.confirm(`Delete rule ${id} of channel ${name}?`);
    const answer = await remote.request(notificationsApi.removeRule, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', id]] });
  },
};

/** Subcommands of `trainyard notifications rules`, in the order of the help. */
export const ruleCommands: readonly RemoteSpec[] = [list, create, set, remove];
