import { describe, expect, it } from 'vitest';
import { auditTypes } from '../../../../../main/orchestrator/events.ts';
import {
  auditAliases,
  securityTypesAmong,
  typeFilter,
} from '../../../../../main/orchestrator/rules/audit-types.ts';

describe('typeFilter', () => {
  it('returns a filter for types that are recorded under their own name', () => {
    expect(typeFilter('worker.created')).toEqual({ type: 'worker.created' });
    expect(typeFilter('worker.*')).toEqual({ type: 'worker.*' });
    expect(typeFilter(null)).toEqual({ type: null });
  });

  it("maps an audit type of SimpleTuner's documentation to the types that record the same actions", () => {
    expect(typeFilter('api_key.revoked')).toEqual({ type: null, types: ['token.revoked'] });
    expect(typeFilter('user.*')).toEqual({ type: null, types: ['token.created', 'token.revoked'] });
  });

  it('maps job.rejected to failed jobs with the cause rejected', () => {
    expect(typeFilter('job.rejected')).toEqual({ type: null, types: ['job.failed'], cause: 'rejected' });
  });
});

describe('auditAliases', () => {
  it('lists each documented type with recorded types only', () => {
    const recordedTypes: readonly string[] = auditTypes;
    const listedTypes = Object.values(auditAliases).flatMap(types => types.split(','));
    expect(listedTypes.filter(type => !recordedTypes.includes(type))).toEqual([]);
    expect(auditAliases['credential.deleted']).toBe('worker.deleted,worker.token_rotated');
  });
});

describe('securityTypesAmong', () => {
  it('returns all security types when a filter names none', () => {
    expect(securityTypesAmong(undefined)).toEqual(expect.arrayContaining(['auth.refused', 'worker.joined']));
    expect(securityTypesAmong(undefined)).not.toContain('job.completed');
  });

  it('returns only the security types that a filter names', () => {
    expect(securityTypesAmong(['auth.refused', 'job.completed'])).toEqual(['auth.refused']);
  });
});
