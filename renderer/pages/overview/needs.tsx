import { Link } from 'wouter';
import { useMay } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { troubleText } from '../workers/texts.ts';
import { type Need, remedies } from './figures.ts';

/** The most pressing; the pages have them all. */
const mostShown = 12;

/** Nothing when nobody is needed. Who can help with none of it is told all the same, and is not called. */
export function Needs({ needs }: { readonly needs: readonly Need[] }) {
  const t = useT();
  const may = useMay();
  const isForYou = needs.some(({ kind }) => may(remedies[kind]));
  if (needs.length === 0) return null;
  return (
    <section className="card needs" aria-labelledby="overview-needs">
      <h2 id="overview-needs">{t(isForYou ? 'overview.needsYou' : 'overview.needsSomebody')}</h2>
      <ul className="plain-list">
        {needs.slice(0, mostShown).map(need => (
          <li key={keyOf(need)}>
            <Link href={hrefOf(need)}>{textOf(need, t)}</Link>
          </li>
        ))}
        {needs.length > mostShown && <li>{t('overview.more', { count: needs.length - mostShown })}</li>}
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
    case 'failed':
      return t('overview.failedJobs', { count: need.count });
    case 'quarantined':
    case 'offline':
    case 'duplicate':
      return t(`overview.${need.kind}`, { worker: need.worker.name });
  }
}

/** Each leads to where it can be settled. */
function hrefOf(need: Need): string {
  if (need.kind === 'failed') return '/jobs?q=state:failed';
  return 'job' in need ? `/jobs/${need.job.id}` : `/workers/${need.worker.id}`;
}

const keyOf = (need: Need): string => `${need.kind} ${hrefOf(need)}`;
