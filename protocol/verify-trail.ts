import type { auditApi } from './admin-api.ts';
import type { ValueOf } from './client.ts';

type Verdict = ValueOf<typeof auditApi.verify>;

/** A part of the audit trail. Both bounds are inclusive. By default, `from` is the oldest row, and `to` the newest. */
interface TrailPart {
  readonly from?: number;
  readonly to?: number;
}

/** Number of rows in a part. The server verifies them within about a second, so no request runs into a timeout. @internal */
export const rowsInPart = 100_000;

/**
 * Codes of rows that themselves record a loss. Verification continues after such a row, because a broken chain after it
 * would be a more serious finding.
 */
const reportedLosses: readonly string[] = ['head_lost', 'head_rolled_back', 'rows_lost'];

/**
 * Verifies the audit trail in parts, oldest first, so that users see the progress. Each part continues the chain of the
 * previous part. `newest` is the number of the newest row. Returns null as soon as `verify` returns null.
 */
export async function verifyTrail<N extends null = null>(
  { from, to }: TrailPart,
  newest: number,
  verify: (part: TrailPart) => Promise<Verdict | N>,
  onProgress: (percent: number) => void,
): Promise<Verdict | N> {
  const first = from ?? 1;
  const end = to ?? newest;
  let loss: Verdict | null = null;
  let checked = 0;
  for (let start = first; ; ) {
    const stop = start + rowsInPart - 1;
    const isLast = stop >= end;
    const last = isLast ? to : stop;
    const isFirst = start === first;
    const verdict = await verify({
      ...(isFirst ? from !== undefined && { from } : { from: start }),
      ...(last !== undefined && { to: last }),
    });
    if (verdict === null) return verdict;
    checked += verdict.checked;
    const isLoss = verdict.first_bad !== null && reportedLosses.includes(verdict.first_bad.code);
    if (isLoss) loss ??= verdict;
    if (isLast || (!verdict.valid && !isLoss))
      return { ...(verdict.valid && loss !== null ? loss : verdict), checked };
    // Retention has removed the rows up to the anchor.
    start = Math.max(stop, verdict.anchor?.seq ?? 0) + 1;
    onProgress((100 * (start - first)) / Math.max(1, end - first + 1));
  }
}
