import { type AuditType, auditTypes } from './model.ts';
import type { AuditSieve } from './ports.ts';

/**
 * Event types of SimpleTuner's guide, with the types that record such acts here. Users are known by the names of their tokens.
 * The providers of compute are the workers, so their tokens are the credentials: a rotation deletes one and creates one.
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

/** As `GET /api/audit/types` shows them: several types with commas between them. */
export const auditAliases: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(documentedTypes).map(([name, types]) => [name, types.join(',')]),
);

/** Filters by a type as people ask for it. A rejected job has failed with the cause `rejected`. */
export function typeSieve(asked: string | null): Pick<AuditSieve, 'type' | 'types' | 'cause'> {
  const types: readonly AuditType[] | undefined = Object.entries(documentedTypes).find(
    ([name]) => name === asked,
  )?.[1];
  // A type that is recorded under this very name needs no other.
  if (types === undefined || auditTypes.some(known => known === asked)) return { type: asked };
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

/** What somebody looks at who wants to know who came in, who tried to, and what was made easier or harder for them. */
const auditSecurityTypes: readonly string[] = auditTypes.filter(
  type => securityTypes.has(type) || securityGroups.some(group => type.startsWith(group)),
);

/** Those of them that a filter asks for; all where it names no types. */
export const securityTypesAmong = (asked: readonly string[] | undefined): readonly string[] =>
  asked === undefined ? auditSecurityTypes : auditSecurityTypes.filter(type => asked.includes(type));
