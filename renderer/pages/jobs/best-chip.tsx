import { Link } from 'wouter';
import type { JobId } from '../../../protocol/ids.ts';
import { useFleet } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Icon } from '../../ui/icon.tsx';
import { bestOfGroups } from './best.ts';

interface BestChipProps {
  readonly id: JobId;
  /** True for a short text without an icon, which fits below a loss in a table. */
  readonly isShort?: boolean;
}

/** Marks the job with the lowest loss of its group, as a link to the comparison of the group. */
export function BestChip({ id, isShort = false }: BestChipProps) {
  const t = useT();
  const count = useFleet(({ fleet }) => bestOfGroups(fleet.jobs).get(id));
  const group = useFleet(({ fleet }) => fleet.jobs.get(id)?.group ?? null);
  if (count === undefined || group === null) return null;
  return (
    <Link
      className={isShort ? undefined : 'chip'}
      href={`/compare?group=${encodeURIComponent(group)}`}
      title={t('jobs.best.compare', { group })}
    >
      {!isShort && <Icon name="completed" />}
      {t(isShort ? 'jobs.best.short' : 'jobs.best', { count })}
    </Link>
  );
}
