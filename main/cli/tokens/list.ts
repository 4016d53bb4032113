import { tokensApi, type TokenView } from '../../../protocol/tokens-api.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Column } from '../table.ts';

const columns: readonly Column<TokenView>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'NAME', text: ({ name }) => name },
  { title: 'TEAM', text: ({ team }) => team ?? '' },
  { title: 'PERMISSIONS', text: ({ permissions }) => permissions.join(' ') },
  { title: 'EXPIRES', text: ({ expires_at: at }) => at ?? 'never' },
  { title: 'LAST USED', text: ({ last_used_at: at }) => at ?? 'never' },
];

export const list: RemoteSpec = {
  name: 'list',
  description: 'List tokens, without their secrets',
  async act(remote) {
    const answer = await remote.ask(tokensApi.list);
    printRows(remote, {
      answer,
      rows: answer.tokens,
      columns,
      none: 'No tokens besides the admin token. To create one, run "trainyard tokens create NAME"',
    });
  },
};
