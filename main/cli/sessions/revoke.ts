import { sessionApi } from '../../../protocol/session-api.ts';
import { SessionId } from '../../../protocol/ids.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn } from '../flags.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const revoke: RemoteSpec = {
  name: 'revoke',
  description: 'Revoke browser sessions',
  shape: command =>
    command
      .argument('[session]', 'session id, as "trainyard sessions list" shows it')
      .option('--all', 'revoke all browser sessions')
      .option('--yes', 'skip the confirmation'),
  async act(remote, [wanted]) {
    const isAll = isOn(remote.flags, 'all');
    if (isAll === (wanted !== undefined)) fail(exitCodes.usage, 'Specify a session id, or --all');
    if (isAll) {
      await remote.confirm('Sign all browsers out?');
      const answer = await remote.ask(sessionApi.revokeAll);
      return printOne(remote, { answer, facts: [['Sessions revoked', String(answer.revoked)]] });
    }
    const id = SessionId.safeParse(wanted);
    if (!id.success) fail(exitCodes.usage, `"${wanted}" is not the id of a session`);
    else {
      const answer = await remote.ask(sessionApi.revoke, { params: { id: id.data } });
      printOne(remote, { answer, facts: [['Session revoked', answer.session_id]] });
    }
  },
};
