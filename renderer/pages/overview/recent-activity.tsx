import { useMemo } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import { JobId, WorkerId } from '../../../protocol/ids.ts';
import { useFleet, useMay, useLoaded } from '../../app/context.ts';
import { JobLink, PoolLink, WorkerLink } from '../../app/links.tsx';
import { useT } from '../../i18n/index.ts';
import { Time } from '../../ui/time.tsx';
import type { ValueOf } from '../../../protocol/client.ts';
import type { UiEvent } from '../../../protocol/events.ts';

const maxShown = 15;
/** Requests more rows than are shown, because rows about users are left out. */
const newest = { query: { limit: 3 * maxShown } };
const noRows: readonly TrailRow[] = [];

/**
 * Lists recent activity, newest first: audit rows from before the page was opened, and stream events since. Users who
 * may read only one of the two see only that one.
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
              <code>{happening.type}</code>
              {happening.target !== null && <Target {...happening.target} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/**
 * Links to the object of an event. Its name follows untranslated event types, which are the same in the audit trail, in
 * scripts and here.
 */
function Target({ kind, id, name }: NonNullable<Activity['target']>) {
  const known = useFleet(({ fleet }) => {
    if (kind === 'worker') return fleet.workers.get(WorkerId.parse(id))?.name;
    return kind === 'job' ? fleet.jobs.get(JobId.parse(id))?.config_name : undefined;
  });
  const ThingLink = links[kind];
  return <ThingLink id={id}>{known ?? name ?? id}</ThingLink>;
}

const links = { worker: WorkerLink, job: JobLink, pool: PoolLink } as const;

type Row = ValueOf<typeof auditApi.list>['entries'][number];
/** The fields of an audit row that are used here. */
export type TrailRow = Pick<Row, 'at' | 'event_type' | 'target_type' | 'target_id' | 'details'>;

/** An entry of the list. */
interface Activity {
  /** Time of the event, RFC 3339. */
  readonly at: string;
  readonly type: string;
  /** Id of the object; empty when the event concerns the whole fleet. */
  readonly id: string;
  /**
   * The page to link to, and the name of the object if known; null for no link. A launch is shown on the page of its
   * pool.
   */
  readonly target: {
    readonly kind: 'worker' | 'job' | 'pool';
    readonly id: string;
    readonly name: string | null;
  } | null;
}

/** Merges events of the stream with older audit rows, newest first. @internal */
export function mergeActivity(
  rows: readonly TrailRow[],
  events: readonly UiEvent[],
  most: number,
): readonly Activity[] {
  const fromEvents = events.flatMap(event => fromEvent(event) ?? []);
  const before = rows
    // Skip sign-ins, which concern neither jobs nor workers.
    .filter(({ target_type: kind }) => kind !== 'user')
    .map(fromAuditRow)
    .filter(row => !fromEvents.some(event => isSame(row, event)));
  return withPoolNames([...fromEvents, ...before])
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, most);
}

function fromEvent(event: UiEvent): Activity | null {
  switch (event.kind) {
    case 'worker': {
      const { at, type, worker_id: id, worker } = event;
      return { at, type, id, target: { kind: 'worker', id, name: worker?.name ?? null } };
    }
    case 'job': {
      const { at, type, job_id: id, job } = event;
      return { at, type, id, target: { kind: 'job', id, name: job?.config_name ?? null } };
    }
    case 'pool': {
      const { at, type, pool_id: pool, launch_id: launch } = event;
      return { at, type, id: launch ?? pool, target: { kind: 'pool', id: pool, name: null } };
    }
    case 'queue':
      return { at: event.at, type: event.type, id: '', target: null };
    case 'hidden':
    case 'reset':
      return null;
  }
}

function fromAuditRow({
  at,
  event_type: type,
  target_type: kind,
  target_id: id,
  details,
}: TrailRow): Activity {
  const text = (name: string): string | null => {
    const value = details[name];
    return typeof value === 'string' ? value : null;
  };
  if (kind === 'worker' || kind === 'job') return { at, type, id, target: { kind, id, name: null } };
  if (kind === 'pool') return { at, type, id, target: { kind, id, name: text('name') } };
  const pool = kind === 'launch' ? text('pool_id') : null;
  const target = pool === null ? null : ({ kind: 'pool', id: pool, name: text('pool') } as const);
  return { at, type, id: kind === 'queue' ? '' : id, target };
}

/**
 * Adds names to pools. The fleet in memory contains no pools, so the names come from other entries about the same pool.
 */
function withPoolNames(all: readonly Activity[]): readonly Activity[] {
  const names = new Map(
    all.flatMap(({ target }) =>
      target?.kind === 'pool' && target.name !== null ? [[target.id, target.name] as const] : [],
    ),
  );
  return all.map(each =>
    each.target?.kind === 'pool'
      ? { ...each, target: { ...each.target, name: names.get(each.target.id) ?? null } }
      : each,
  );
}

/** An event and its audit row are written together, but their timestamps may differ by up to this much. */
const togetherMs = 1_000;

const isSame = (one: Activity, other: Activity): boolean =>
  one.type === other.type &&
  one.id === other.id &&
  Math.abs(Date.parse(one.at) - Date.parse(other.at)) < togetherMs;
