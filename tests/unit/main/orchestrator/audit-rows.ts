import type { AuditRow } from '../../../../main/orchestrator/ports/index.ts';
import type { Fleet } from '../../../support/fleet.ts';

type ParsedRow = Omit<AuditRow, 'details'> & { readonly details: Readonly<Record<string, unknown>> };

/** Returns the newest audit row, or the newest row of `type`. Throws if there is no such row. */
export function lastRow(fleet: Fleet, type?: string): ParsedRow {
  const row = fleet.audit().findLast(candidate => type === undefined || candidate.type === type);
  if (row === undefined)
    throw new Error(`the audit trail has no row${type === undefined ? '' : ` of type ${type}`}`);
  return { ...row, details: JSON.parse(row.details) as ParsedRow['details'] };
}
