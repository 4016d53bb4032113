import { useEffect, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import type { CallInput } from '../../../protocol/client.ts';

type AuditQuery = NonNullable<CallInput<typeof auditApi.stats>['query']>;

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

interface FiltersProps {
  readonly wish: AuditWish;
  readonly onChange: (wish: AuditWish) => void;
}

/** Filters by type, actor, target and time. */
export function Filters({ wish, onChange }: FiltersProps) {
  const t = useT();
  const types = useTypes();
  const put = (name: keyof AuditWish) => (event: { readonly target: { readonly value: string } }) =>
    onChange({ ...wish, [name]: event.target.value });
  return (
    <>
      <label>
        {t('audit.type')}
        <select value={wish.type} onChange={put('type')}>
          <option value="">{t('audit.anyType')}</option>
          {withGroups(wish.type === '' ? types : [...types, wish.type]).map(type => (
            <option key={type} value={type} translate="no">
              {type}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t('audit.actor')}
        <input value={wish.actor} onChange={put('actor')} placeholder="admin" />
      </label>
      <label>
        {t('audit.target')}
        <input value={wish.target} onChange={put('target')} placeholder="j_..." />
      </label>
      <label>
        {t('audit.since')}
        <input type="datetime-local" value={wish.since} onChange={put('since')} />
      </label>
      <label>
        {t('audit.until')}
        <input type="datetime-local" value={wish.until} onChange={put('until')} />
      </label>
    </>
  );
}

function useTypes(): readonly string[] {
  const { client } = usePanel();
  const [types, setTypes] = useState<readonly string[]>([]);
  useEffect(() => {
    const asking = new AbortController();
    void client.call(auditApi.types, { signal: asking.signal }).then(answer => {
      if (answer.ok && !asking.signal.aborted) setTypes(answer.value.types);
    });
    return () => asking.abort();
  }, [client]);
  return types;
}
