import { ownPermissions, permissions } from '../../protocol/call.ts';
import { NewToken, tokensApi, type TokenView } from '../../protocol/tokens-api.ts';
import { exitCodes, fail } from './failure.ts';
import { numberOf, readInput, textOf, timeSpan, wordsAmong } from './flags.ts';
import { printOne, printRows } from './output.ts';
import type { RemoteSpec } from './remote-command.ts';
import type { Column } from './table.ts';
import { timeText } from './time.ts';

const columns: readonly Column<TokenView>[] = [
  { title: 'ID', text: ({ id }) => id, importance: 1 },
  { title: 'NAME', text: ({ name }) => name },
  { title: 'TEAM', text: ({ team }) => team ?? '', importance: 2 },
  { title: 'PERMISSIONS', text: token => token.permissions.join(' '), minWidth: 20 },
  {
    title: 'EXPIRES',
    text: ({ expires_at: at }, isScreen) => (at === null ? 'never' : timeText(at, isScreen)),
    importance: 4,
  },
  {
    title: 'LAST USED',
    text: ({ last_used_at: at }, isScreen) => (at === null ? 'never' : timeText(at, isScreen)),
    importance: 3,
  },
];

const list: RemoteSpec = {
  name: 'list',
  description: 'List tokens, without their secrets',
  async act(remote) {
    const answer = await remote.request(tokensApi.list);
    printRows(remote, {
      answer,
      rows: answer.tokens,
      columns,
      none: 'No tokens besides the admin token. To create one, run "trainyard tokens create NAME"',
    });
  },
};

const create: RemoteSpec = {
  name: 'create',
  description: 'Create a token and print it once',
  shape: command =>
    command
      .argument('<name>', 'name of the user or script; jobs submitted with the token belong to this name')
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
    const answer = await remote.request(tokensApi.create, { body });
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

const revoke: RemoteSpec = {
  name: 'revoke',
  description: 'Revoke a token and sign out its browser sessions',
  shape: command => command.argument('<token>', 'token id or name').option('--yes', 'skip the confirmation'),
  async act(remote, [word = '']) {
    const { tokens } = await remote.request(tokensApi.list);
    const token =
      tokens.find(({ id, name }) => id === word || name === word) ??
      fail(exitCodes.notFound, `No token "${word}". To list tokens, run "trainyard tokens list"`);
    await remote.confirm(`Revoke token ${token.name}? Its users lose access now.`);
    const answer = await remote.request(tokensApi.revoke, { params: { id: token.id } });
    printOne(remote, { answer, facts: [['Revoked', `${token.name} (${token.id})`]] });
  },
};

/** Subcommands of `trainyard tokens`, in the order of the help. */
export const tokenCommands: readonly RemoteSpec[] = [list, create, revoke];
