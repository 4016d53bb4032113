import { sessionApi, type SessionView } from '../../../protocol/session-api.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';

const columns: readonly Column<SessionView>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'USER', text: ({ user }) => user },
  { title: 'DEVICE', text: ({ device }) => device ?? 'unknown' },
  { title: 'ADDRESS', text: ({ address }) => address ?? 'unknown' },
  { title: 'SIGNED IN', text: ({ signed_in_at: at }) => at },
  { title: 'LAST USED', text: ({ last_used_at: at }) => at },
];

export const list: RemoteSpec = {
  name: 'list',
  description: 'List browser sessions',
  async act(remote) {
    const answer = await remote.ask(sessionApi.list);
    printRows(remote, {
      answer,
      rows: answer.sessions,
      columns,
      none: 'No browser sessions. To sign in, run "trainyard link"',
    });
  },
};
