import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { numberOf, wholeNumber } from '../flags.ts';
import { readInput } from '../input.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
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

export const list: RemoteSpec = {
  name: 'list',
  description: 'List what was done and by whom, newest first',
  shape: command =>
    withSieve(command)
      .option('--limit <count>', 'at most so many, up to 500 (default: 50)', wholeNumber)
      .option('--offset <count>', 'leave out so many of the newest', wholeNumber),
  async act(remote) {
    const { flags } = remote;
    const asked = {
      ...sieveOf(flags),
      limit: numberOf(flags, 'limit') ?? undefined,
      offset: numberOf(flags, 'offset') ?? undefined,
    };
    const query = readInput(auditApi.list.query, asked, {
      ...sieveFlags,
      limit: '--limit',
      offset: '--offset',
    });
    const answer = await remote.ask(auditApi.list, { query });
    printRows(remote, { answer, rows: answer.entries, columns, none: 'There is no such entry' });
  },
};
