import { useState } from 'react';
import { Link } from 'wouter';
import { type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { troubleText } from '../workers/texts.ts';
import type { Need } from './figures.ts';

/** Number of needs shown at first, the most urgent ones. A button shows the others. */
const shownAtFirst = 12;

/** Lists the needs, most urgent first; renders nothing without any. */
export function Needs({ needs }: { readonly needs: readonly Need[] }) {
  const t = useT();
  const [showsAll, setShowsAll] = useState(false);
  if (needs.length === 0) return null;
  const shown = showsAll ? needs : needs.slice(0, shownAtFirst);
  return (
    <section className="card needs" aria-labelledby="overview-needs">
      <h2 id="overview-needs">{t('overview.needsAttention')}</h2>
      <ul className="plain-list">
        {shown.map(need => (
          <li key={keyOf(need)}>
            <Link href={hrefOf(need)}>{textOf(need, t)}</Link>
          </li>
        ))}
        {needs.length > shown.length && (
          <li>
            <Button kind="quiet" onClick={() => setShowsAll(true)}>
              {t('overview.viewAll', { count: needs.length })}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}

function textOf(need: Need, t: Translator): string {
  switch (need.kind) {
    case 'silent':
      return t('overview.silentJob', {
        job: need.job.config_name,
        worker: need.job.worker_name ?? need.job.worker_id ?? '',
      });
    case 'unsatisfiable':
      return t('overview.unsatisfiable', { job: need.job.config_name, more: need.more });
    case 'approval':
      return t('overview.wantsApproval', { job: need.job.config_name, user: need.job.user });
    case 'gpuTrouble':
      return t('overview.gpuTrouble', {
        worker: need.worker.name,
        what: need.worker.gpu_troubles.map(trouble => troubleText(t, trouble)).join(', '),
      });
    case 'waitsForOffline': {
      const { worker, others, count } = need;
      const key = others === 0 ? 'overview.waitsForOffline' : 'overview.waitsForOfflineMany';
      return t(key, { worker: worker.name, others, count });
    }
    case 'failed':
      return t('overview.failedJobs', { count: need.count });
    case 'quarantined':
    case 'offline':
    case 'duplicate':
      return t(`overview.${need.kind}`, { worker: need.worker.name });
  }
}

/** Returns the page on which the user can solve the problem. */
function hrefOf(need: Need): string {
  if (need.kind === 'failed') return '/jobs?q=state:failed';
  if (need.kind === 'waitsForOffline' && need.others > 0) return '/workers?q=state:offline';
  return 'job' in need ? `/jobs/${need.job.id}` : `/workers/${need.worker.id}`;
}

function keyOf(need: Need): string {
  const group = need.kind === 'waitsForOffline' ? `${need.worker.id} ${need.others}` : '';
  return `${need.kind} ${hrefOf(need)} ${group}`;
}
