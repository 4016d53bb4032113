import type { Command } from 'commander';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import type { Flags } from '../../config.ts';
import { numberOf, pageSize, readInput, textOf, wholeNumber } from '../flags.ts';
import { printOne, printRows } from '../output.ts';
import { printDownload } from '../print-download.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { moment, timeText } from '../time.ts';
import { verify } from './verify.ts';

/** Adds the filter options that all audit commands share, except for `verify`. */
const withFilter = (command: Command): Command =>
  command
    .option('--type <type>', 'only entries of this type, such as worker.created or worker.*')
    .option('--event-type <type>', 'same as --type')
    .option('--actor <id>', 'only actions of the token with this name, or of the worker with this id')
    .option('--target <id>', 'only entries about the worker, job or token with this id')
    .option(
      '--since <time>',
      'only entries from this time on: 2026-01-31, 2026-01-31T12:00:00Z (both UTC), or 2h, 3d or yesterday',
      moment,
    )
    .option('--until <time>', 'only entries before this time', moment);

const toFilter = (flags: Flags) => ({
  event_type: textOf(flags, 'type') ?? textOf(flags, 'event-type') ?? undefined,
  actor_id: textOf(flags, 'actor') ?? undefined,
  target_id: textOf(flags, 'target') ?? undefined,
  since: textOf(flags, 'since') ?? undefined,
  until: textOf(flags, 'until') ?? undefined,
});

/** The option that messages name for each request field. */
const filterFlags = {
  event_type: '--type',
  actor_id: '--actor',
  target_id: '--target',
  since: '--since',
  until: '--until',
};

type Entry = ValueOf<typeof auditApi.list>['entries'][number];

const columns: readonly Column<Entry>[] = [
  { title: 'SEQ', text: ({ seq }) => String(seq), importance: 1 },
  { title: 'TIME', text: ({ at }, isScreen) => timeText(at, isScreen), importance: 4 },
  {
    title: 'ACTOR',
    text: ({ actor_type: type, actor_id: id }) => (id === null || id === type ? type : `${type} ${id}`),
    importance: 3,
    minWidth: 10,
  },
  { title: 'EVENT', text: ({ event_type: type }) => type },
  { title: 'TARGET', text: ({ target_id: id }) => id, importance: 2 },
  { title: 'DETAILS', text: ({ details }) => JSON.stringify(details), minWidth: 20 },
];

/** Adds the options for filters and for paging. */
const withPaging = (command: Command): Command =>
  withFilter(command)
    .option('--limit <count>', 'maximum number of results, up to 500 (default: 50)', pageSize)
    .option('--offset <count>', 'number of newest results to skip (default: 0)', wholeNumber);

const toPage = ({ flags }: Remote) => ({
  ...toFilter(flags),
  limit: numberOf(flags, 'limit') ?? undefined,
  offset: numberOf(flags, 'offset') ?? undefined,
});
const pageFlags = { ...filterFlags, limit: '--limit', offset: '--offset' };

const print = (remote: Remote, answer: ValueOf<typeof auditApi.list>): void =>
  printRows(remote, { answer, rows: answer.entries, columns, none: 'No matching entries' });

const list: RemoteSpec = {
  name: 'list',
  description: 'List audit entries, newest first',
  shape: withPaging,
  async act(remote) {
    const query = readInput(auditApi.list.query, toPage(remote), pageFlags);
    print(remote, await remote.request(auditApi.list, { query }));
  },
};

const ofUser: RemoteSpec = {
  name: 'user',
  description: 'List actions of a user or worker, newest first',
  shape: command => withPaging(command.argument('<id>', 'token name, "admin", or worker id')),
  async act(remote, [id = '']) {
    const query = readInput(auditApi.user.query, toPage(remote), pageFlags);
    print(remote, await remote.request(auditApi.user, { params: { id }, query }));
  },
};

const security: RemoteSpec = {
  name: 'security',
  description: 'List security events, newest first: sign-ins, rejections, token and settings changes',
  shape: withPaging,
  async act(remote) {
    const query = readInput(auditApi.security.query, toPage(remote), pageFlags);
    print(remote, await remote.request(auditApi.security, { query }));
  },
};

type Counted = ValueOf<typeof auditApi.stats>['by_type'];

const stats: RemoteSpec = {
  name: 'stats',
  description: 'Count audit entries by type and actor',
  shape: withFilter,
  async act(remote) {
    const query = readInput(auditApi.stats.query, toFilter(remote.flags), filterFlags);
    const answer = await remote.request(auditApi.stats, { query });
    printOne(remote, {
      answer,
      facts: [
        ['Entries', String(answer.total)],
        ['First', answer.first_at],
        ['Last', answer.last_at],
        ['By type', countsText(answer.by_type)],
        ['By actor', countsText(answer.by_actor)],
      ],
    });
  },
};

const countsText = (counted: Counted): string | null =>
  counted.map(({ name, count }) => `${count} ${name}`).join('\n') || null;

const exportEntries: RemoteSpec = {
  name: 'export',
  description: 'Print entries as JSON lines, oldest first (all, unless filtered)',
  hasFixedOutput: true,
  shape: withFilter,
  async act(remote) {
    const query = readInput(auditApi.export.query, toFilter(remote.flags), filterFlags);
    await printDownload(remote, auditApi.export, { query });
  },
};

/** Subcommands of `trainyard audit`, in the order of the help. */
export const auditCommands: readonly RemoteSpec[] = [list, ofUser, security, verify, stats, exportEntries];
