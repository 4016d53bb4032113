import { type AuditType, auditTypes } from '../events.ts';
import type { AuditFilter } from '../ports/index.ts';

/**
 * Maps event types in SimpleTuner's guide to the types that record the same actions here. In the guide, users correspond
 * to names of API tokens, and credentials to worker tokens. A token rotation deletes one credential and creates one.
 */
const documentedTypes = {
  'auth.login.success': ['auth.signed_in'],
  'auth.login.failed': ['auth.refused'],
  'auth.logout': ['auth.signed_out'],
  'auth.session.expired': ['session.expired'],
  'auth.api_key.used': ['auth.signed_in'],
  'user.created': ['token.created'],
  'user.deleted': ['token.revoked'],
  'user.*': ['token.created', 'token.revoked'],
  'api_key.created': ['token.created'],
  'api_key.revoked': ['token.revoked'],
  'api_key.*': ['token.created', 'token.revoked'],
  'credential.created': [
    'worker.created',
    'worker.join_token_created',
    'worker.joined',
    'worker.token_rotated',
  ],
  'credential.deleted': ['worker.deleted', 'worker.token_rotated'],
  'credential.used': ['worker.registered', 'worker.joined'],
  'credential.*': [
    'worker.created',
    'worker.join_token_created',
    'worker.joined',
    'worker.registered',
    'worker.token_rotated',
    'worker.deleted',
  ],
  'job.rejected': ['job.failed'],
} as const satisfies Readonly<Record<string, readonly AuditType[]>>;

/** Aliases as `GET /api/audit/types` returns them: comma-separated types. */
export const auditAliases: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(documentedTypes).map(([name, types]) => [name, types.join(',')]),
);

/** Builds the filter for a requested type. `job.rejected` matches failed jobs with the cause `rejected`. */
export function typeFilter(asked: string | null): Pick<AuditFilter, 'type' | 'types' | 'cause'> {
  const types: readonly AuditType[] | undefined = Object.entries(documentedTypes).find(
    ([name]) => name === asked,
  )?.[1];
  // If rows already have the requested type, no alias is needed.
  if (types === undefined || auditTypes.some(type => type === asked)) return { type: asked };
  return asked === 'job.rejected' ? { type: null, types, cause: 'rejected' } : { type: null, types };
}

const securityGroups = ['auth.', 'token.', 'audit.', 'settings.', 'session.', 'user.'];
const securityTypes = new Set([
  'worker.token_rotated',
  'worker.join_token_created',
  'worker.joined',
  'worker.duplicate',
  'worker.deleted',
  'job.report_refused',
  'backup.made',
]);

/** Types for a security review: granted access, attempted access, and changes of the access rules. */
const auditSecurityTypes: readonly string[] = auditTypes.filter(
  type => securityTypes.has(type) || securityGroups.some(group => type.startsWith(group)),
);

/** The security types that a filter requests; all of them when it names no types. */
export const securityTypesAmong = (asked: readonly string[] | undefined): readonly string[] =>
  asked === undefined ? auditSecurityTypes : auditSecurityTypes.filter(type => asked.includes(type));
