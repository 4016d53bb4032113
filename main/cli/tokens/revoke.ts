import { tokensApi } from '../../../protocol/tokens-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const revoke: RemoteSpec = {
  name: 'revoke',
  description: 'Revoke a token and sign out its browser sessions',
  shape: command => command.argument('<token>', 'token id or name').option('--yes', 'skip the confirmation'),
  async act(remote, [wanted = '']) {
    const { tokens } = await remote.ask(tokensApi.list);
    const token =
      tokens.find(({ id, name }) => id === wanted || name === wanted) ??
      fail(exitCodes.notFound, `No token "${wanted}". To list tokens, run "trainyard tokens list"`);
    await remote.confirm(`Revoke token ${token.name}? Its users lose access now.`);
    const answer = await remote.ask(tokensApi.revoke, { params: { id: token.id } });
    printOne(remote, { answer, facts: [['Revoked', `${token.name} (${token.id})`]] });
  },
};
