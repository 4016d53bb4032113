/** The entries of the list of recent activity, and the sentence for each. */
import { shownName } from '../../../protocol/job-about.ts';
import type { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import type { UiEvent } from '../../../protocol/events.ts';
import { firstPage } from '../../i18n/en/first-page.ts';
import type { MessageKey, Translator } from '../../i18n/index.ts';

type Row = ValueOf<typeof auditApi.list>['entries'][number];
/** The fields of an audit row that are used here. */
export type TrailRow = Pick<Row, 'at' | 'event_type' | 'target_type' | 'target_id' | 'details'>;

/** An entry of the list. */
export interface Activity {
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
  /** The worker of a job at that time; null when there was none. */
  readonly worker: string | null;
}

/**
 * Steps of a start that follow each other within seconds, of which the list names only the last one: the training
 * runs. Uploads of outputs are left out because a training makes hundreds of them.
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

/** An event and its audit row are written together, but their timestamps may differ by up to this much. */
const togetherMs = 1_000;

const isSame = (a: Activity, b: Activity): boolean =>
  a.type === b.type && a.id === b.id && Math.abs(Date.parse(a.at) - Date.parse(b.at)) < togetherMs;

/** A part of a sentence: a text, or the place of a link. */
export type SentencePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'target' | 'worker' };

/** Placeholders for the objects while a sentence is formatted. No name contains these private characters. */
const marks = { target: '\u{E000}', worker: '\u{E001}' } as const;

/**
 * Returns the sentence for an entry, in parts. Null when there is no sentence for its type, or when its object is not
 * known. The link to the object is the part `target`, and that to the worker of a job the part `worker`.
 */
export function sentenceOf(
  { type, target, worker }: Activity,
  t: Translator,
): readonly SentencePart[] | null {
  const key = sentenceKey(type, target?.kind === 'job' && worker !== null);
  if (key === null) return null;
  const workerMark = target?.kind === 'job' ? marks.worker : marks.target;
  const values = { job: marks.target, pool: marks.target, worker: workerMark };
  const parts = t(key, values).split(/([\u{E000}\u{E001}])/u);
  if (target === null && parts.length > 1) return null;
  return parts.filter(text => text !== '').map(toPart);
}

function toPart(text: string): SentencePart {
  if (text === marks.target) return { kind: 'target' };
  return text === marks.worker ? { kind: 'worker' } : { kind: 'text', text };
}

function sentenceKey(type: string, hasWorker: boolean): MessageKey | null {
  const topic = type.startsWith('settings.') ? 'settings' : type;
  const plain = `activity.${topic}`;
  const keys = hasWorker ? [`${plain}.on`, plain] : [plain];
  return keys.find(isKey) ?? null;
}

const isKey = (key: string): key is MessageKey => Object.hasOwn(firstPage, key);
