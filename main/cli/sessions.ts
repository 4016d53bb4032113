import { SessionId } from '../../protocol/ids.ts';
import { sessionApi, type SessionView } from '../../protocol/session-api.ts';
import { exitCodes, fail } from './failure.ts';
import { isOn } from './flags.ts';
import { printOne, printRows } from './output.ts';
import type { RemoteSpec } from './remote-command.ts';
import type { Column } from './table.ts';
import { timeText } from './time.ts';

const columns: readonly Column<SessionView>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'USER', text: ({ user }) => user },
  { title: 'DEVICE', text: ({ device }) => device ?? 'unknown', minWidth: 12 },
  { title: 'ADDRESS', text: ({ address }) => address ?? 'unknown', importance: 3 },
  { title: 'SIGNED IN', text: ({ signed_in_at: at }, isScreen) => timeText(at, isScreen), importance: 1 },
  { title: 'LAST USED', text: ({ last_used_at: at }, isScreen) => timeText(at, isScreen), importance: 2 },
];

const list: RemoteSpec = {
  name: 'list',
  description: 'List browser sessions',
  async act(remote) {
    const answer = await remote.request(sessionApi.list);
    printRows(remote, {
      answer,
      rows: answer.sessions,
      columns,
      none: 'No browser sessions. To sign in, run "trainyard link"',
    });
  },
};

const revoke: RemoteSpec = {
  name: 'revoke',
  description: 'Revoke browser sessions',
  shape: command =>
    command
      .argument('[session]', 'session id, as "trainyard sessions list" shows it')
      .option('--all', 'revoke all browser sessions')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const isAll = isOn(remote.flags, 'all');
    if (isAll === (word !== undefined)) fail(exitCodes.usage, 'Specify a session id, or --all');
    if (isAll) {
      await remote.confirm('Sign all browsers out?');
      const answer = await remote.request(sessionApi.revokeAll);
      return printOne(remote, { answer, facts: [['Sessions revoked', String(answer.revoked)]] });
    }
    const id = SessionId.safeParse(word);
    if (!id.success) fail(exitCodes.usage, `"${word}" is not the id of a session`);
    else {
      const answer = await remote.request(sessionApi.revoke, { params: { id: id.data } });
      printOne(remote, { answer, facts: [['Session revoked', answer.session_id]] });
    }
  },
};

/** Subcommands of `trainyard sessions`, in the order of the help. */
export const sessionCommands: readonly RemoteSpec[] = [list, revoke];
