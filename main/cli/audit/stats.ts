import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { sieveFlags, sieveOf, withSieve } from './sieve.ts';

type Counted = ValueOf<typeof auditApi.stats>['by_type'];

export const stats: RemoteSpec = {
  name: 'stats',
  description: 'Count audit entries by type and actor',
  shape: withSieve,
  async act(remote) {
    const query = readInput(auditApi.stats.query, sieveOf(remote.flags), sieveFlags);
    const answer = await remote.ask(auditApi.stats, { query });
    printOne(remote, {
      answer,
      facts: [
        ['Entries', String(answer.total)],
        ['First', answer.first_at],
        ['Last', answer.last_at],
        ['What', counts(answer.by_type)],
        ['Who', counts(answer.by_actor)],
      ],
    });
  },
};

const counts = (counted: Counted): string | null =>
  counted.map(({ name, count }) => `${count} ${name}`).join('\n') || null;
