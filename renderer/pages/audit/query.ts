import type { auditApi } from '../../../protocol/admin-api.ts';
import type { CallInput } from '../../../protocol/client.ts';

export type AuditQuery = NonNullable<CallInput<typeof auditApi.stats>['query']>;

/** The filters in the URL: names as typed, and times in the user's time zone. */
export interface AuditWish {
  readonly type: string;
  readonly actor: string;
  readonly target: string;
  readonly since: string;
  readonly until: string;
}

const names = ['type', 'actor', 'target', 'since', 'until'] as const satisfies readonly (keyof AuditWish)[];

export const wishOf = (params: URLSearchParams): AuditWish => {
  const of = (name: (typeof names)[number]): string => params.get(name) ?? '';
  return {
    type: of('type'),
    actor: of('actor'),
    target: of('target'),
    since: of('since'),
    until: of('until'),
  };
};

/** Omits empty filters to keep the URL short. */
export const paramsOf = (wish: AuditWish): URLSearchParams =>
  new URLSearchParams(
    Object.fromEntries(names.filter(name => wish[name] !== '').map(name => [name, wish[name]])),
  );

/** Builds the query of the call; ignores incomplete times. */
export function queryOf({ type, actor, target, since, until }: AuditWish): AuditQuery {
  const given = {
    event_type: type.trim(),
    actor_id: actor.trim(),
    target_id: target.trim(),
    since: instantOf(since),
    until: instantOf(until),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

export const isEmpty = (wish: AuditWish): boolean => names.every(name => wish[name] === '');

function instantOf(local: string): string {
  const at = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d/.test(local) ? Date.parse(local) : Number.NaN;
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}

/** Adds `worker.*` and similar groups, sorted before their types. */
export function withGroups(types: readonly string[]): readonly string[] {
  const groups = types.map(type => `${type.split('.', 1)[0] ?? type}.*`);
  return [...new Set([...groups, ...types])].toSorted((a, b) => a.localeCompare(b, 'en'));
}
