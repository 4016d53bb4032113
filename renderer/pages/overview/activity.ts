/** Builds the entries of the "Recent activity" list, and a sentence for each entry. */
import { shownName } from '../../../protocol/job-about.ts';
import type { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import type { UiEvent } from '../../../protocol/events.ts';
import { firstPage } from '../../i18n/en/first-page.ts';
import type { MessageKey, Translator } from '../../i18n/index.ts';

type Row = ValueOf<typeof auditApi.list>['entries'][number];
/** The fields of an audit row that this list needs. */
export type TrailRow = Pick<Row, 'at' | 'event_type' | 'target_type' | 'target_id' | 'details'>;

/** An entry of the list. */
export interface Activity {
  /** Time of the event, RFC 3339. */
  readonly at: string;
  readonly type: string;
  /** Id of the object; empty when the event concerns the whole fleet. */
  readonly id: string;
  /**
   * The page to link to, and the name of the object if known; null for no link. A launch links to its pool, because
   * launches have no page.
   */
  readonly target: {
    readonly kind: 'worker' | 'job' | 'pool';
    readonly id: string;
    readonly name: string | null;
  } | null;
  /** The worker of a job at that time; null when there was none. */
  readonly worker: string | null;
}

/**
 * Events that the list omits. The steps of a start follow each other within seconds, and the list shows only the last
 * step. Uploads are omitted because a training causes hundreds of them.
 */
const minorSteps: readonly string[] = [
  'job.dispatched',
  'job.starting',
  'worker.registered',
  'artifact.stored',
];

/** Merges events of the stream with older audit rows, newest first. */
export function mergeActivity(
  rows: readonly TrailRow[],
  events: readonly UiEvent[],
  max: number,
): readonly Activity[] {
  const fromEvents = events.flatMap(event => fromEvent(event) ?? []);
  const fromRows = rows
    // Skip sign-ins, which concern neither jobs nor workers.
    .filter(({ target_type: kind }) => kind !== 'user' && kind !== 'session')
    .map(fromAuditRow)
    .filter(row => !fromEvents.some(event => isSame(row, event)));
  return withPoolNames([...fromEvents, ...fromRows])
    .filter(({ type }) => !minorSteps.includes(type))
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, max);
}

function fromEvent(event: UiEvent): Activity | null {
  switch (event.kind) {
    case 'worker': {
      const { at, type, worker_id: id, worker } = event;
      return { at, type, id, target: { kind: 'worker', id, name: worker?.name ?? null }, worker: null };
    }
    case 'job': {
      const { at, type, job_id: id, job, worker_id: worker } = event;
      return { at, type, id, target: { kind: 'job', id, name: job ? shownName(job) : null }, worker };
    }
    case 'pool': {
      const { at, type, pool_id: pool, launch_id: launch } = event;
      return { at, type, id: launch ?? pool, target: { kind: 'pool', id: pool, name: null }, worker: null };
    }
    case 'template':
      return { at: event.at, type: event.type, id: event.template, target: null, worker: null };
    case 'queue':
      return { at: event.at, type: event.type, id: '', target: null, worker: null };
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
  const worker = kind === 'job' ? text('worker_id') : null;
  if (kind === 'worker' || kind === 'job') return { at, type, id, target: { kind, id, name: null }, worker };
  if (kind === 'pool') return { at, type, id, target: { kind, id, name: text('name') }, worker };
  const pool = kind === 'launch' ? text('pool_id') : null;
  const target = pool === null ? null : ({ kind: 'pool', id: pool, name: text('pool') } as const);
  return { at, type, id: kind === 'queue' ? '' : id, target, worker };
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

/** Maximum difference between the timestamps of an event and its audit row, which the server writes together. */
const togetherMs = 1_000;

const isSame = (a: Activity, b: Activity): boolean =>
  a.type === b.type && a.id === b.id && Math.abs(Date.parse(a.at) - Date.parse(b.at)) < togetherMs;

/** A part of a sentence: a text, or a link. */
export type SentencePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'target' | 'worker' };

/** Placeholders for links while a sentence is formatted. They are private characters, which no translation contains. */
const placeholders = { target: '\u{E000}', worker: '\u{E001}' } as const;

/**
 * Returns the sentence for an entry, in parts. The parts `target` and `worker` are links to the object and to the worker
 * of a job. Returns null if the type has no sentence, or if the sentence needs an unknown object.
 */
export function sentenceOf(
  { type, target, worker }: Activity,
  t: Translator,
): readonly SentencePart[] | null {
  const key = sentenceKey(type, target?.kind === 'job' && worker !== null);
  if (key === null) return null;
  const workerPlaceholder = target?.kind === 'job' ? placeholders.worker : placeholders.target;
  const values = { job: placeholders.target, pool: placeholders.target, worker: workerPlaceholder };
  const parts = t(key, values).split(/([\u{E000}\u{E001}])/u);
  if (target === null && parts.length > 1) return null;
  return parts.filter(text => text !== '').map(toPart);
}

function toPart(text: string): SentencePart {
  if (text === placeholders.target) return { kind: 'target' };
  return text === placeholders.worker ? { kind: 'worker' } : { kind: 'text', text };
}

function sentenceKey(type: string, hasWorker: boolean): MessageKey | null {
  const topic = type.startsWith('settings.') ? 'settings' : type;
  const plain = `activity.${topic}`;
  const keys = hasWorker ? [`${plain}.on`, plain] : [plain];
  return keys.find(isKey) ?? null;
}

const isKey = (key: string): key is MessageKey => Object.hasOwn(firstPage, key);
