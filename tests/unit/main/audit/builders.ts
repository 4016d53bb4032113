import type { AuditRow } from '../../../../main/orchestrator/ports/index.ts';

export const makeRow = (changes: Partial<AuditRow> = {}): AuditRow => ({
  seq: 7,
  at: 1_000,
  type: 'worker.offline',
  actor_type: 'worker',
  actor_id: 'w_1',
  address: '10.0.0.7',
  target_type: 'worker',
  target_id: 'w_1',
  details: '{"why":"silent"}',
  hash: '',
  ...changes,
});
