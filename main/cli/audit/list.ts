import type { Command } from 'commander';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { numberOf, wholeNumber } from '../flags.ts';
import { readInput } from '../input.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { sieveFlags, sieveOf, withSieve } from './sieve.ts';

type Entry = ValueOf<typeof auditApi.list>['entries'][number];

const columns: readonly Column<Entry>[] = [
  { title: 'SEQ', text: ({ seq }) => String(seq) },
  { title: 'AT', text: ({ at }) => at },
  {
    title: 'WHO',
    text: ({ actor_type: type, actor_id: id }) => (id === null || id === type ? type : `${type} ${id}`),
  },
  { title: 'WHAT', text: ({ event_type: type }) => type },
  { title: 'TO', text: ({ target_id: id }) => id },
  { title: 'DETAILS', text: ({ details }) => JSON.stringify(details) },
];

/** Adds the options for paging. */
const withPage = (command: Command): Command =>
  withSieve(command)
    .option('--limit <count>', 'maximum number of results, up to 500 (default: 50)', wholeNumber)
    .option('--offset <count>', 'number of newest results to skip (default: 0)', wholeNumber);

const pageOf = ({ flags }: Remote) => ({
  ...sieveOf(flags),
  limit: numberOf(flags, 'limit') ?? undefined,
  offset: numberOf(flags, 'offset') ?? undefined,
});
const pageFlags = { ...sieveFlags, limit: '--limit', offset: '--offset' };

const print = (remote: Remote, answer: ValueOf<typeof auditApi.list>): void =>
  printRows(remote, { answer, rows: answer.entries, columns, none: 'No matching entries' });

export const list: RemoteSpec = {
  name: 'list',
  description: 'List audit entries, newest first',
  shape: withPage,
  async act(remote) {
    const query = readInput(auditApi.list.query, pageOf(remote), pageFlags);
    print(remote, await remote.ask(auditApi.list, { query }));
  },
};

export const ofUser: RemoteSpec = {
  name: 'user',
  description: 'List actions of a user or worker, newest first',
  shape: command => withPage(command.argument('<id>', 'token name, "admin", or worker id')),
  async act(remote, [id = '']) {
    const query = readInput(auditApi.user.query, pageOf(remote), pageFlags);
    print(remote, await remote.ask(auditApi.user, { params: { id }, query }));
  },
};

export const security: RemoteSpec = {
  name: 'security',
  description: 'List security events, newest first: sign-ins, rejections, token and settings changes',
  shape: withPage,
  async act(remote) {
    const query = readInput(auditApi.security.query, pageOf(remote), pageFlags);
    print(remote, await remote.ask(auditApi.security, { query }));
  },
};
