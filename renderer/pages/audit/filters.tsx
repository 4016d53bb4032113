import { useEffect, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import type { CallInput } from '../../../protocol/client.ts';

type AuditQuery = NonNullable<CallInput<typeof auditApi.stats>['query']>;

/** The filters as they are in the URL: texts as the user typed them, times in the user's time zone. */
export interface AuditFilters {
  readonly type: string;
  readonly actor: string;
  readonly target: string;
  readonly since: string;
  readonly until: string;
}

const names = [
  'type',
  'actor',
  'target',
  'since',
  'until',
] as const satisfies readonly (keyof AuditFilters)[];

export const parseFilters = (params: URLSearchParams): AuditFilters => ({
  type: params.get('type') ?? '',
  actor: params.get('actor') ?? '',
  target: params.get('target') ?? '',
  since: params.get('since') ?? '',
  until: params.get('until') ?? '',
});

/** Omits empty filters to keep the URL short. */
export const toSearchParams = (filters: AuditFilters): URLSearchParams =>
  new URLSearchParams(
    Object.fromEntries(names.filter(name => filters[name] !== '').map(name => [name, filters[name]])),
  );

/** Builds the query of the audit call. Leaves out times that are incomplete or invalid. */
export function toQuery({ type, actor, target, since, until }: AuditFilters): AuditQuery {
  const fields = {
    event_type: type.trim(),
    actor_id: actor.trim(),
    target_id: target.trim(),
    since: toInstant(since),
    until: toInstant(until),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

export const isEmpty = (filters: AuditFilters): boolean => names.every(name => filters[name] === '');

/** Converts a time without a zone to RFC 3339 in UTC. Returns an empty text if the time is incomplete or invalid. */
function toInstant(local: string): string {
  const at = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d/.test(local) ? Date.parse(local) : Number.NaN;
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}

/** Adds a group such as `worker.*` before the types that belong to it. @internal */
export function withGroups(types: readonly string[]): readonly string[] {
  const groups = types.map(type => `${type.split('.', 1)[0] ?? type}.*`);
  return [...new Set([...groups, ...types])].toSorted((a, b) => a.localeCompare(b, 'en'));
}

interface FiltersProps {
  readonly filters: AuditFilters;
  readonly onChange: (filters: AuditFilters) => void;
}

/** Input fields for the filters: type, actor, target and time. */
export function Filters({ filters, onChange }: FiltersProps) {
  const t = useT();
  const types = useTypes();
  const change = (name: keyof AuditFilters) => (event: { readonly target: { readonly value: string } }) =>
    onChange({ ...filters, [name]: event.target.value });
  return (
    <>
      <label>
        {t('audit.type')}
        <select value={filters.type} onChange={change('type')}>
          <option value="">{t('audit.anyType')}</option>
          {withGroups(filters.type === '' ? types : [...types, filters.type]).map(type => (
            <option key={type} value={type} translate="no">
              {type}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t('audit.actor')}
        <input value={filters.actor} onChange={change('actor')} placeholder="admin" />
      </label>
      <label>
        {t('audit.target')}
        <input value={filters.target} onChange={change('target')} placeholder="j_..." />
      </label>
      <label>
        {t('audit.since')}
        <input type="datetime-local" value={filters.since} onChange={change('since')} />
      </label>
      <label>
        {t('audit.until')}
        <input type="datetime-local" value={filters.until} onChange={change('until')} />
      </label>
    </>
  );
}

function useTypes(): readonly string[] {
  const { client } = usePanel();
  const [types, setTypes] = useState<readonly string[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    void client.call(auditApi.types, { signal: controller.signal }).then(answer => {
      if (answer.ok && !controller.signal.aborted) setTypes(answer.value.types);
    });
    return () => controller.abort();
  }, [client]);
  return types;
}
