import { ownPermissions, permissions } from '../../../protocol/call.ts';
import { NewToken, tokensApi } from '../../../protocol/tokens-api.ts';
import { numberOf, textOf, timeSpan, wordsAmong } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create a token for a person or a script, and print it this once',
  shape: command =>
    command
      .argument('<name>', 'who it is for: their jobs belong to this name')
      .option(
        '--allow <permissions>',
        `what it may do, with commas between: ${permissions.join(', ')} (default: ${ownPermissions.join(',')})`,
        wordsAmong('permission', permissions),
      )
      .option('--team <name>', 'the team that their jobs count for (default: none)')
      .option('--expires <time>', 'it expires after this time, such as 90d (default: never)', timeSpan),
  async act(remote, [name]) {
    const { flags } = remote;
    const body = readInput(
      NewToken,
      {
        name,
        team: textOf(flags, 'team'),
        permissions: flags['allow'],
        expires_in_s: numberOf(flags, 'expires') ?? null,
      },
      { name: 'NAME', team: '--team', permissions: '--allow', expires_in_s: '--expires' },
    );
    const answer = await remote.ask(tokensApi.create, { body });
    printOne(remote, {
      answer,
      facts: [
        ['Token', answer.token],
        ['Of', `${answer.name} (${answer.id})`],
        ['Team', answer.team],
        ['May', answer.permissions.join(', ')],
        ['Expires', answer.expires_at ?? 'never'],
      ],
    });
    remote.terminal.err('The token is shown this once: keep it now\n');
  },
};
