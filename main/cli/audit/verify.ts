import { readFileSync } from 'node:fs';
import { auditApi, readWitnessMark, type WitnessMark } from '../../../protocol/admin-api.ts';
import { verifyTrail } from '../../../protocol/verify-trail.ts';
import { exitCodes, fail } from '../failure.ts';
import { numberOf, readInput, textOf, wholeNumber } from '../flags.ts';
import { printOne } from '../output.ts';
import { bar, createDisplay } from '../progress-bar.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';

export const verify: RemoteSpec = {
  name: 'verify',
  description: 'Check that no row was changed, removed or inserted; exit with code 1 otherwise',
  shape: command =>
    command
      .option('--from <seq>', 'first row to check', wholeNumber)
      .option('--to <seq>', 'last row to check', wholeNumber)
      .option('--witness <file>', 'also compare with the marks in this witness file')
      .option('--start-id <seq>', 'same as --from', wholeNumber)
      .option('--end-id <seq>', 'same as --to', wholeNumber),
  async act(remote) {
    const range = {
      from: numberOf(remote.flags, 'from') ?? numberOf(remote.flags, 'start-id') ?? undefined,
      to: numberOf(remote.flags, 'to') ?? numberOf(remote.flags, 'end-id') ?? undefined,
    };
    const query = readInput(auditApi.verify.query, range, { from: '--from', to: '--to' });
    const answer = await verifyWithProgress(remote, query);
    const { valid, checked, first_bad: bad, head, anchor } = answer;
    printOne(remote, {
      answer,
      facts: [
        ['Rows', `${checked} checked`],
        ['Chain', valid ? 'intact' : 'broken'],
        ['Sealed', head === null ? 'no rows yet' : `up to row ${head.seq}, at ${head.at}`],
        ['Removed', anchor === null ? null : `rows up to ${anchor.seq}, by retention, at ${anchor.at}`],
      ],
    });
    if (valid) {
      await compareWithWitness(remote, textOf(remote.flags, 'witness'));
      return;
    }
    const where = bad === null ? '' : ` at row ${bad.seq}: ${bad.problem}`;
    fail(exitCodes.failed, `The audit trail is broken${where}. Compare it with a backup of the data folder`);
  },
};

/** Verifies the trail in several requests, and shows the progress on a terminal. */
async function verifyWithProgress(remote: Remote, range: { readonly from?: number; readonly to?: number }) {
  const { entries } = await remote.request(auditApi.list, { query: { limit: 1 } });
  const { err, errScreen } = remote.terminal;
  const display = createDisplay<{ readonly percent: number }>(err, errScreen, ({ percent }) => bar(percent));
  try {
    return await verifyTrail<never>(
      range,
      entries[0]?.seq ?? 0,
      query => remote.request(auditApi.verify, { query }),
      percent => display.show({ percent }),
    );
  } finally {
    display.finish();
  }
}

/** Maximum number of marks per request. */
const maxMarks = 1_000;

/**
 * Compares every mark of the file, not only the newest. After a rollback of the trail, the server writes new marks, which match,
 * so only older marks differ.
 */
async function compareWithWitness(remote: Remote, file: string | null): Promise<void> {
  if (file === null) return;
  const marks = readMarks(file);
  for (let from = 0; from < marks.length; from += maxMarks) {
    const body = { marks: marks.slice(from, from + maxMarks) };
    const { first_bad: bad } = await remote.request(auditApi.compare, { body });
    if (bad !== null)
      fail(
        exitCodes.failed,
        `The audit trail does not match the witness (${bad.code}): row ${bad.seq}: ${bad.problem}`,
      );
  }
}

function readMarks(file: string): readonly WitnessMark[] {
  let lines: readonly string[];
  try {
    lines = readFileSync(file, 'utf8').split('\n');
  } catch (cause) {
    return fail(
      exitCodes.failed,
      `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    );
  }
  // A crash may have cut off the last line.
  const written = lines.slice(0, -1);
  return written.map((line, index) => {
    const mark = readWitnessMark(line);
    return mark ?? fail(exitCodes.failed, `${file}: line ${index + 1} is not a witness mark`);
  });
}
