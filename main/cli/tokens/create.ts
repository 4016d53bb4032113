import { ownPermissions, permissions } from '../../../protocol/call.ts';
import { NewToken, tokensApi } from '../../../protocol/tokens-api.ts';
import { numberOf, textOf, timeSpan, wordsAmong } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const create: RemoteSpec = {
  name: 'create',
  description: 'Create a token and print it once',
  shape: command =>
    command
      .argument('<name>', 'name of the user or script; owns the jobs submitted with the token')
      .option(
        '--allow <permissions>',
        `permissions, separated by commas: ${permissions.join(', ')} (default: ${ownPermissions.join(',')})`,
        wordsAmong('permission', permissions),
      )
      .option('--team <name>', 'team of the user, for team limits (default: none)')
      .option('--expires <time>', 'lifetime of the token, such as 90d (default: unlimited)', timeSpan),
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
        ['Name', `${answer.name} (${answer.id})`],
        ['Team', answer.team],
        ['Permissions', answer.permissions.join(', ')],
        ['Expires', answer.expires_at ?? 'never'],
      ],
    });
    remote.terminal.err('The token is shown only once. Save it now\n');
  },
};
