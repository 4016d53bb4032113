import { sessionApi } from '../../../protocol/session-api.ts';
import { SessionId } from '../../../protocol/ids.ts';
import { exitCodes, fail } from '../failure.ts';
import { isOn } from '../flags.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const revoke: RemoteSpec = {
  name: 'revoke',
  description: 'Sign a browser out; its streams end',
  shape: command =>
    command
      .argument('[session]', 'its id, as "trainyard sessions list" shows it')
      .option('--all', 'sign all browsers out')
      .option('--yes', 'do not ask'),
  async act(remote, [wanted]) {
    const isAll = isOn(remote.flags, 'all');
    if (isAll === (wanted !== undefined)) fail(exitCodes.usage, 'Give the id of a session, or --all');
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
