import { Command, Option } from 'commander';
import { DeliveryState, type DeliveryView } from '../../../protocol/notification.ts';
import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { numberOf, pageSize } from '../flags.ts';
import type { Invocation } from '../invocation.ts';
import { printRows } from '../output.ts';
import { commandGroup, remoteCommand, type RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';
import { timeText } from '../time.ts';
import { channelCommands } from './channels.ts';
import { ruleCommands } from './rules.ts';

const columns: readonly Column<DeliveryView>[] = [
  { title: 'TIME', text: ({ created_at: at }, isScreen) => timeText(at, isScreen) },
  { title: 'CHANNEL', text: ({ channel_name: name }) => name },
  { title: 'EVENT', text: ({ event }) => event, importance: 2 },
  { title: 'TITLE', text: ({ title }) => title, minWidth: 20 },
  { title: 'STATE', text: ({ state }) => state },
  { title: 'TRIES', text: ({ tries }) => String(tries), importance: 3 },
  { title: 'RESULT', text: ({ result }) => result ?? '', importance: 1 },
];

const log: RemoteSpec = {
  name: 'log',
  description: 'List the newest deliveries and their results',
  shape: command =>
    command
      .addOption(
        new Option('--state <state>', 'only deliveries in this state').choices(DeliveryState.options),
      )
      .option('-l, --limit <count>', 'maximum number of results, up to 500 (default: 50)', pageSize),
  async act(remote) {
    const state = DeliveryState.safeParse(remote.flags['state']).data;
    const limit = numberOf(remote.flags, 'limit') ?? undefined;
    const answer = await remote.request(notificationsApi.listDeliveries, { query: { state, limit } });
    const none = 'No deliveries. They appear when an event matches a rule';
    printRows(remote, { answer, rows: answer.deliveries, columns, none });
  },
};

export function notificationsCommand(invocation: Invocation): Command {
  return new Command('notifications')
    .description('Send events to Discord, Slack, ntfy, e-mail or webhooks')
    .addCommand(commandGroup(invocation, 'channels', 'Where notifications go', channelCommands))
    .addCommand(commandGroup(invocation, 'rules', 'Which events go to which channel', ruleCommands))
    .addCommand(remoteCommand(invocation, log));
}
