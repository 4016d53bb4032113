import { auditApi } from '../../../protocol/admin-api.ts';
import { readInput } from '../input.ts';
import { printDownload } from '../print-download.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { sieveFlags, sieveOf, withSieve } from './sieve.ts';

export const exportAll: RemoteSpec = {
  name: 'export',
  description: 'Print all entries as JSON lines, oldest first',
  shape: withSieve,
  async act(remote) {
    const query = readInput(auditApi.export.query, sieveOf(remote.flags), sieveFlags);
    await printDownload(remote, auditApi.export, { query });
  },
};
