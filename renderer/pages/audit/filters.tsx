import { useEffect, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { type AuditWish, withGroups } from './query.ts';

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
