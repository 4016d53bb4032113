import { auditTypes } from './model.ts';
import type { AuditSieve } from './ports.ts';

/** Event types of SimpleTuner's guide that have another name here. Users are known by the names of their tokens. */
export const auditAliases: Readonly<Record<string, string>> = {
  'auth.login.success': 'auth.signed_in',
  'auth.login.failed': 'auth.refused',
  'auth.logout': 'auth.signed_out',
  'auth.session.expired': 'session.expired',
  'user.created': 'token.created',
  'user.deleted': 'token.revoked',
  'api_key.created': 'token.created',
  'api_key.revoked': 'token.revoked',
  'api_key.*': 'token.*',
  'job.rejected': 'job.failed',
};

/** Of a type as people ask for it. A job that was rejected has failed, for this cause. */
export function typeSieve(asked: string | null): Pick<AuditSieve, 'type' | 'cause'> {
  if (asked === null) return { type: null };
  const type = auditAliases[asked] ?? asked;
  // A type that is recorded under this very name needs no other.
  if (auditTypes.some(known => known === asked)) return { type: asked };
  return asked === 'job.rejected' ? { type, cause: 'rejected' } : { type };
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
export const auditSecurityTypes: readonly string[] = auditTypes.filter(
  type => securityTypes.has(type) || securityGroups.some(group => type.startsWith(group)),
);
