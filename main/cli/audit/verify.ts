import { auditApi } from '../../../protocol/admin-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { numberOf, wholeNumber } from '../flags.ts';
import { readInput } from '../input.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';

export const verify: RemoteSpec = {
  name: 'verify',
  description: 'Check that no row was changed, removed or put in between; exit code 1 if one was',
  shape: command =>
    command
      .option('--from <seq>', 'begin with this row', wholeNumber)
      .option('--to <seq>', 'end with this row', wholeNumber)
      .option('--start-id <seq>', 'as --from', wholeNumber)
      .option('--end-id <seq>', 'as --to', wholeNumber),
  async act(remote) {
    const asked = {
      from: numberOf(remote.flags, 'from') ?? numberOf(remote.flags, 'start-id') ?? undefined,
      to: numberOf(remote.flags, 'to') ?? numberOf(remote.flags, 'end-id') ?? undefined,
    };
    const query = readInput(auditApi.verify.query, asked, { from: '--from', to: '--to' });
    const answer = await remote.ask(auditApi.verify, { query });
    const { valid, checked, first_bad: bad, head, anchor } = answer;
    printOne(remote, {
      answer,
      facts: [
        ['Rows', `${checked} checked`],
        ['Chain', valid ? 'whole' : 'broken'],
        ['Head', head === null ? 'none yet' : `row ${head.seq}, of ${head.at}`],
        ['Removed', anchor === null ? null : `rows up to ${anchor.seq}, by retention, at ${anchor.at}`],
      ],
    });
    if (valid) return;
    const where = bad === null ? '' : ` at row ${bad.seq}: ${bad.problem}`;
    fail(exitCodes.failed, `The audit trail is broken${where}. Compare it with a backup of the data folder`);
  },
};
