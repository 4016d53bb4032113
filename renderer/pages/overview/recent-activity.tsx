import { useMemo } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { useFleet, useMay, useLoaded } from '../../app/context.ts';
import { JobLink, WorkerLink } from '../../app/links.tsx';
import { useT } from '../../i18n/index.ts';
import { Time } from '../../ui/time.tsx';
import type { ValueOf } from '../../../protocol/client.ts';
import type { UiEvent } from '../../../protocol/events.ts';

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
  const shown = useMemo(() => mergeActivity(rows, events, maxShown), [rows, events]);
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
function Target({ kind, id, name }: NonNullable<Activity['target']>) {
  const known = useFleet(({ fleet }) =>
    kind === 'worker'
      ? fleet.workers.get(WorkerId.parse(id))?.name
      : fleet.jobs.get(JobId.parse(id))?.config_name,
  );
  const ThingLink = kind === 'worker' ? WorkerLink : JobLink;
  return <ThingLink id={id}>{known ?? name ?? id}</ThingLink>;
}

type Row = ValueOf<typeof auditApi.list>['entries'][number];
/** The parts of an audit row that are used. */
export type TrailRow = Pick<Row, 'at' | 'event_type' | 'target_type' | 'target_id'>;

/** An event in the list of recent activity. */
interface Activity {
  /** RFC 3339 */
  readonly at: string;
  readonly type: string;
  /** The object of the event, with its name if known; null for the whole fleet. */
  readonly target: {
    readonly kind: 'worker' | 'job';
    readonly id: string;
    readonly name: string | null;
  } | null;
}

/** Merges events of the stream with older audit rows, newest first. */
export function mergeActivity(
  rows: readonly TrailRow[],
  events: readonly UiEvent[],
  most: number,
): readonly Activity[] {
  const fromEvents = events.flatMap(event => fromEvent(event) ?? []);
  const before = rows
    // Sign-ins are in the audit trail but concern neither jobs nor workers.
    .filter(({ target_type: kind }) => kind !== 'user')
    .map(fromAuditRow)
    .filter(row => !fromEvents.some(event => isSame(row, event)));
  return [...fromEvents, ...before].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, most);
}

function fromEvent(event: UiEvent): Activity | null {
  switch (event.kind) {
    case 'worker': {
      const { at, type, worker_id: id, worker } = event;
      return { at, type, target: { kind: 'worker', id, name: worker?.name ?? null } };
    }
    case 'job': {
      const { at, type, job_id: id, job } = event;
      return { at, type, target: { kind: 'job', id, name: job?.config_name ?? null } };
    }
    case 'queue':
      return { at: event.at, type: event.type, target: null };
    case 'hidden':
    case 'reset':
      return null;
  }
}

function fromAuditRow({ at, event_type: type, target_type: kind, target_id: id }: TrailRow): Activity {
  return { at, type, target: kind === 'worker' || kind === 'job' ? { kind, id, name: null } : null };
}

/** An event and its audit row are written together but carry separate timestamps. */
const togetherMs = 1_000;

const isSame = (one: Activity, other: Activity): boolean =>
  one.type === other.type &&
  one.target?.id === other.target?.id &&
  Math.abs(Date.parse(one.at) - Date.parse(other.at)) < togetherMs;
