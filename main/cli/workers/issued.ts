import type { workersApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';

/** A token that was just made. */
export function showIssued(remote: Remote, issued: ValueOf<typeof workersApi.create>): void {
  printOne(remote, {
    answer: issued,
    facts: [
      ['Worker', `${issued.name} (${issued.worker_id})`],
      ['Token', issued.token],
      ['Start it with', issued.connection_command],
    ],
  });
  remote.terminal.err('The token is shown this once: keep it now\n');
}
