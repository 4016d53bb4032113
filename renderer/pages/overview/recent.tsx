import { Link } from 'wouter';
import type { UiEvent } from '../../../protocol/events.ts';
import { useFleet } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Time } from '../../ui/time.tsx';

const mostShown = 15;

/** What happened since this page was opened, the newest first. */
export function Recent() {
  const t = useT();
  const recent = useFleet(({ fleet }) => fleet.recent);
  return (
    <section className="card" aria-labelledby="overview-recent">
      <h2 id="overview-recent">{t('overview.recent')}</h2>
      {recent.length === 0 ? (
        <p className="muted">{t('overview.nothingYet')}</p>
      ) : (
        <ul className="plain-list">
          {recent.slice(0, mostShown).map(event => (
            <li key={event.seq} className="recent">
              <Time at={event.at} />
              <What event={event} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The name of the event is the same everywhere: in the trail, in scripts, and here. */
function What({ event }: { readonly event: UiEvent }) {
  if (event.kind === 'worker') {
    return (
      <span>
        <code>{event.type}</code>{' '}
        <Link href={`/workers/${event.worker_id}`}>{event.worker?.name ?? event.worker_id}</Link>
      </span>
    );
  }
  if (event.kind === 'job') {
    return (
      <span>
        <code>{event.type}</code>{' '}
        <Link href={`/jobs/${event.job_id}`}>{event.job?.config_name ?? event.job_id}</Link>
      </span>
    );
  }
  return event.kind === 'queue' ? <code>{event.type}</code> : null;
}
