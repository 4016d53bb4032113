import { useMemo } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { useFleet, useMay } from '../../app/context.ts';
import { JobLink, WorkerLink } from '../../app/links.tsx';
import { useLoaded } from '../../app/loaded.ts';
import { useT } from '../../i18n/index.ts';
import { Time } from '../../ui/time.tsx';
import { type Happening, happenings, type TrailRow } from './happenings.ts';

const maxShown = 15;
/** Request more rows than shown, because some do not concern the fleet. */
const newest = { query: { limit: 3 * maxShown } };
const noRows: readonly TrailRow[] = [];

/**
 * Recent activity, newest first: audit rows from before the page opened, and stream events since. Users who may read only one of the two
 * see that one.
 */
export function Recent() {
  const t = useT();
  const may = useMay();
  const events = useFleet(({ fleet }) => fleet.recent);
  const { value } = useLoaded(auditApi.list, newest);
  const rows = value?.entries ?? noRows;
  const shown = useMemo(() => happenings(rows, events, maxShown), [rows, events]);
  return (
    <section className="card" aria-labelledby="overview-recent">
      <h2 id="overview-recent">{t('overview.recent')}</h2>
      {shown.length === 0 ? (
        <p className="muted">{t(may(auditApi.list) ? 'overview.nothingYet' : 'overview.nothingSince')}</p>
      ) : (
        <ul className="plain-list">
          {shown.map(happening => (
            <li key={`${happening.at} ${happening.type} ${happening.target?.id ?? ''}`} className="recent">
              <Time at={happening.at} />
              <code>{happening.type}</code>
              {happening.target !== null && <Target {...happening.target} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Event names are the same in the audit trail, in scripts and here. The object is shown by its own name. */
function Target({ kind, id, name }: NonNullable<Happening['target']>) {
  const known = useFleet(({ fleet }) =>
    kind === 'worker'
      ? fleet.workers.get(WorkerId.parse(id))?.name
      : fleet.jobs.get(JobId.parse(id))?.config_name,
  );
  const ThingLink = kind === 'worker' ? WorkerLink : JobLink;
  return <ThingLink id={id}>{known ?? name ?? id}</ThingLink>;
}
