import { auditApi } from '../../../protocol/admin-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const verify: RemoteSpec = {
  name: 'verify',
  description: 'Check that no row was changed, removed or put in between; exit code 1 if one was',
  async act(remote) {
    const answer = await remote.ask(auditApi.verify);
    const { valid, checked, first_bad: bad } = answer;
    printOne(remote, {
      answer,
      facts: [
        ['Rows', `${checked} checked`],
        ['Chain', valid ? 'whole' : 'broken'],
      ],
    });
    if (valid) return;
    const where = bad === null ? '' : ` at row ${bad.seq}: ${bad.problem}`;
    fail(exitCodes.failed, `The audit trail is broken${where}. Compare it with a backup of the data folder`);
  },
};
