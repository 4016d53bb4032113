import { useMemo } from 'react';
import { shownName } from '../../../protocol/job-about.ts';
import { auditApi } from '../../../protocol/admin-api.ts';
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { useFleet, useMay, useLoaded } from '../../app/context.ts';
import { JobLink, PoolLink, WorkerLink } from '../../app/links.tsx';
import { useT } from '../../i18n/index.ts';
import { Time } from '../../ui/time.tsx';
import { type Activity, mergeActivity, sentenceOf, type SentencePart, type TrailRow } from './activity.ts';

const maxShown = 15;
/** Requests more rows than the list shows, because the list omits rows about users. */
const newest = { query: { limit: 3 * maxShown } };
const noRows: readonly TrailRow[] = [];

/**
 * Lists recent activity, newest first: older audit rows, and stream events since the page was opened. A user who
 * may read only one of these sources sees only the entries of that source.
 */
export function RecentActivity() {
  const t = useT();
  const may = useMay();
  const events = useFleet(({ fleet }) => fleet.recent);
  const { value } = useLoaded(auditApi.list, newest);
  const rows = value?.entries ?? noRows;
  const shown = useMemo(() => mergeActivity(rows, events, maxShown), [rows, events]);
  return (
    <section className="card" aria-labelledby="overview-recent">
      <h2 id="overview-recent">{t('overview.recent')}</h2>
      {shown.length === 0 ? (
        <p className="muted">{t(may(auditApi.list) ? 'overview.nothingYet' : 'overview.nothingSince')}</p>
      ) : (
        <ul className="plain-list">
          {shown.map(happening => (
            <li key={`${happening.at} ${happening.type} ${happening.id}`} className="recent">
              <Time at={happening.at} />
              <Sentence activity={happening} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** A sentence with links, such as "flux-lora started on rig-2". Shows the name of the event type if it has no sentence. */
function Sentence({ activity }: { readonly activity: Activity }) {
  const t = useT();
  const parts = sentenceOf(activity, t);
  return (
    <span title={activity.type}>
      {parts === null ? (
        <>
          <code>{activity.type}</code> {activity.target !== null && <Target {...activity.target} />}
        </>
      ) : (
        parts.map(part => <Part key={keyOf(part)} part={part} activity={activity} />)
      )}
    </span>
  );
}

const keyOf = (part: SentencePart): string => (part.kind === 'text' ? part.text : part.kind);

function Part({ part, activity }: { readonly part: SentencePart; readonly activity: Activity }) {
  if (part.kind === 'text') return part.text;
  if (part.kind === 'target') return activity.target !== null && <Target {...activity.target} />;
  return activity.worker !== null && <Target kind="worker" id={activity.worker} name={null} />;
}

/** Links to the object of an event. */
function Target({ kind, id, name }: NonNullable<Activity['target']>) {
  const currentName = useFleet(({ fleet }) => {
    if (kind === 'worker') return fleet.workers.get(WorkerId.parse(id))?.name;
    const job = kind === 'job' ? fleet.jobs.get(JobId.parse(id)) : undefined;
    return job && shownName(job);
  });
  const ThingLink = links[kind];
  return <ThingLink id={id}>{currentName ?? name ?? id}</ThingLink>;
}

const links = { worker: WorkerLink, job: JobLink, pool: PoolLink } as const;
