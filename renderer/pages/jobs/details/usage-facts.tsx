import { Link } from 'wouter';
import type { JobDetail } from '../../../../protocol/job.ts';
import { settingsApi } from '../../../../protocol/settings-api.ts';
import { useMay } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { formatUsage } from '../../overview/usage/format.ts';
import type { Fact } from './facts.tsx';

/** Returns GPU-hours, energy and cost of a job that has started. Replaces an unknown cost by a link to set the price. */
export function useUsageFacts({ usage }: JobDetail): readonly Fact[] {
  const t = useT();
  const maySetPrice = useMay()(settingsApi.change);
  if (usage === null) return [];
  const { gpu_hours: hours, energy_kwh: energy, cost, currency } = usage;
  const none = t('time.none');
  const price = (
    <Link key="price" href="/settings/workers#settings-electricity">
      {t('jobs.fact.setPrice')}
    </Link>
  );
  return [
    [t('jobs.fact.gpuHours'), formatUsage(t, 'gpu_hours', hours, currency)],
    [t('jobs.fact.energy'), energy === null ? none : formatUsage(t, 'energy_kwh', energy, currency)],
    [
      t('jobs.fact.cost'),
      cost !== null ? formatUsage(t, 'cost', cost, currency) : maySetPrice && energy !== null ? price : none,
    ],
  ];
}
