import { Link } from 'wouter';
import { useLoaded } from '../../../app/context.ts';
import { poolsApi } from '../../../../protocol/pools-api.ts';
import { LinkCard } from '../link-card.tsx';
import { useSettingsT } from '../texts.tsx';

/** Lists the pools with links to their pages and settings. */
export function PoolsTopic() {
  const t = useSettingsT();
  const { value } = useLoaded(poolsApi.list);
  const pools = value?.pools ?? [];
  return (
    <LinkCard id="settings-pools" title={t('nav.pools')} href="/pools" link={t('topics.pools.page')}>
      <p className="muted">{t('topics.pools.explain')}</p>
      {pools.length > 0 && (
        <ul className="plain-list">
          {pools.map(({ pool_id: id, name }) => (
            <li key={id} className="settings-line">
              <Link href={`/pools/${id}`} translate="no">
                {name}
              </Link>
              <Link href={`/pools/${id}/edit`} aria-label={t('topics.pools.edit.of', { name })}>
                {t('topics.pools.edit')}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {value !== null && pools.length === 0 && <p>{t('topics.pools.none')}</p>}
    </LinkCard>
  );
}
