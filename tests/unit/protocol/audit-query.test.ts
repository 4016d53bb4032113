import { describe, expect, it } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';

describe('query of an audit verification', () => {
  const isAccepted = (query: object): boolean => auditApi.verify.query.safeParse(query).success;

  it('accepts a bound under either of its two names, or under both names with the same value', () => {
    for (const query of [{}, { from: '1' }, { start_id: '1' }, { from: '1', start_id: '1' }])
      expect(isAccepted(query)).toBe(true);
    for (const query of [{ to: '2' }, { end_id: '2' }, { to: '2', end_id: '2' }])
      expect(isAccepted(query)).toBe(true);
  });

  it('refuses a bound that has different values under its two names', () => {
    expect(isAccepted({ from: '1', start_id: '2' })).toBe(false);
    expect(isAccepted({ to: '1', end_id: '2' })).toBe(false);
  });
});
