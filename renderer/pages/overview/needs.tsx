import { Link } from 'wouter';
import { useT } from '../../i18n/index.ts';
import type { Need } from './figures.ts';

/** Nothing when nobody is needed. */
export function Needs({ needs }: { readonly needs: readonly Need[] }) {
  const t = useT();
  if (needs.length === 0) return null;
  return (
    <section className="card needs" aria-labelledby="overview-needs">
      <h2 id="overview-needs">{t('overview.needsYou')}</h2>
      <ul className="plain-list">
        {needs.map(need => (
          <li key={keyOf(need)}>
            {'job' in need ? (
              <Link href={`/jobs/${need.job.id}`}>
                {need.kind === 'silent'
                  ? t('overview.silentJob', { job: need.job.config_name, worker: need.job.worker_name ?? '' })
                  : t('overview.wantsApproval', { job: need.job.config_name, user: need.job.user })}
              </Link>
            ) : (
              <Link href={`/workers/${need.worker.id}`}>
                {need.kind === 'quarantined'
                  ? t('overview.quarantined', { worker: need.worker.name })
                  : t('overview.duplicate', { worker: need.worker.name })}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const keyOf = (need: Need): string => `${need.kind} ${'job' in need ? need.job.id : need.worker.id}`;
