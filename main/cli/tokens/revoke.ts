import { tokensApi } from '../../../protocol/tokens-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const revoke: RemoteSpec = {
  name: 'revoke',
  description: 'Revoke a token: it, and every browser that signed in with it, is shut out at once',
  shape: command => command.argument('<token>', 'its id or its name').option('--yes', 'do not ask'),
  async act(remote, [wanted = '']) {
    const { tokens } = await remote.ask(tokensApi.list);
    const token =
      tokens.find(({ id, name }) => id === wanted || name === wanted) ??
      fail(exitCodes.notFound, `There is no token ${wanted}: trainyard tokens list shows what there is`);
    await remote.confirm(`Revoke the token ${token.name}? Whoever uses it is shut out at once.`);
    const answer = await remote.ask(tokensApi.revoke, { params: { id: token.id } });
    printOne(remote, { answer, facts: [['Revoked', `${token.name} (${token.id})`]] });
  },
};
