import type { ChannelView } from '../../../protocol/notification.ts';
import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { readInput, textOf } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column, Fact } from '../table.ts';
import { readTarget, withTarget } from './target.ts';

const columns: readonly Column<ChannelView>[] = [
  { title: 'ID', text: ({ channel_id: id }) => id, importance: 1 },
  { title: 'NAME', text: ({ name }) => name },
  { title: 'KIND', text: ({ kind }) => kind },
  { title: 'HOST', text: ({ host }) => host, importance: 2 },
  { title: 'ENABLED', text: ({ enabled }) => (enabled ? 'yes' : 'no'), importance: 3 },
  { title: 'PENDING', text: ({ pending }) => String(pending), importance: 3 },
];

const factsOf = ({
  channel_id: id,
  name,
  kind,
  host,
  recipients,
  enabled,
  pending,
}: ChannelView): readonly Fact[] => [
  ['Channel', `${name} (${id})`],
  ['Kind', kind],
  ['Host', host],
  ['Recipients', recipients.join(', ') || null],
  ['Enabled', enabled ? 'yes' : 'no'],
  ['Pending', String(pending)],
];

/** Finds a channel by name or id; ends the command when there is none. */
export async function findChannel(remote: Remote, word = ''): Promise<ChannelView> {
  const { channels } = await remote.request(notificationsApi.listChannels);
  return (
    channels.find(({ channel_id: id, name }) => id === word || name === word) ??
    fail(
      exitCodes.notFound,
      `No notification channel "${word}". To list channels, run "trainyard notifications channels list"`,
    )
  );
}

const list: RemoteSpec = {
  name: 'list',
  isDefault: true,
  description: 'List channels, without their secrets',
  async act(remote) {
    const answer = await remote.request(notificationsApi.listChannels);
    const none =
      'No channels. To create one, run "trainyard notifications channels create NAME --kind discord --url-file FILE"';
    printRows(remote, { answer, rows: answer.channels, columns, none });
  },
};

const create: RemoteSpec = {
  name: 'create',
  description: 'Create a channel. Its secrets are never shown again',
  examples: [
    'trainyard notifications channels create team --kind discord --url-file url.txt',
    'trainyard notifications channels create mail --file mail.yaml',
  ],
  shape: command => withTarget(command.argument('<name>', 'name of the channel')),
  async act(remote, [word]) {
    const input =
      (await readTarget(remote)) ?? fail(exitCodes.usage, 'Give --kind and --url-file, or --file');
    const { name } = readInput(
      notificationsApi.createChannel.body,
      { name: word, target: input.target },
      { name: 'NAME' },
    );
    const answer = await remote.request(notificationsApi.createChannel, {
      body: { name, target: input.target },
    });
    printChannel(remote, answer, input.newSecret);
    remote.terminal.err(`To test it, run "trainyard notifications channels test ${answer.name}"\n`);
  },
};

/** Prints a channel. A new signing secret goes to stderr, so that a script which stores stdout does not store the secret. */
function printChannel(remote: Remote, answer: ChannelView, newSecret: string | null): void {
  printOne(remote, { answer, facts: factsOf(answer) });
  if (newSecret !== null) remote.terminal.err(`Signing secret, shown only once: ${newSecret}\n`);
}

const set: RemoteSpec = {
  name: 'set',
  description: 'Rename, enable or disable a channel, or replace its target, including all secrets',
  shape: command =>
    withTarget(
      command
        .argument('<channel>', 'channel id or name')
        .option('--name <name>', 'new name')
        .option('--enable', 'send what matches a rule')
        .option('--disable', 'keep the channel and its rules, but send only tests'),
    ),
  async act(remote, [word]) {
    const name = textOf(remote.flags, 'name') ?? undefined;
    const input = await readTarget(remote);
    const enabled = enabledFrom(remote);
    if (name === undefined && input === null && enabled === undefined)
      fail(exitCodes.usage, 'Give --name, --enable, --disable, --kind and --url-file, or --file');
    const { channel_id: id } = await findChannel(remote, word);
    const body = { name, enabled, target: input?.target };
    const answer = await remote.request(notificationsApi.updateChannel, { params: { id }, body });
    printChannel(remote, answer, input?.newSecret ?? null);
  },
};

/** Returns undefined without `--enable` and `--disable`. */
function enabledFrom({ flags }: Pick<Remote, 'flags'>): boolean | undefined {
  if (flags['disable'] === true) return false;
  return flags['enable'] === true ? true : undefined;
}

const test: RemoteSpec = {
  name: 'test',
  description: 'Send a test notification now, and print the result',
  shape: command => command.argument('<channel>', 'channel id or name'),
  async act(remote, [word]) {
    const { channel_id: id, name } = await findChannel(remote, word);
    const answer = await remote.request(notificationsApi.testChannel, { params: { id } });
    printOne(remote, {
      answer,
      facts: [
        ['Channel', name],
        ['Delivered', answer.ok ? 'yes' : 'no'],
        ['Details', answer.detail],
      ],
    });
    if (!answer.ok) fail(exitCodes.failed, `The receiver of channel ${name} did not get the test`);
  },
};

const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a channel, its rules and its deliveries',
  shape: command =>
    command.argument('<channel>', 'channel id or name').option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const { channel_id: id, name } = await findChannel(remote, word);
    await remote.confirm(`Delete channel ${name} and its rules?`);
    const answer = await remote.request(notificationsApi.removeChannel, { params: { id } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${id})`]] });
  },
};

/** Subcommands of `trainyard notifications channels`, in the order of the help. */
export const channelCommands: readonly RemoteSpec[] = [list, create, set, test, remove];
