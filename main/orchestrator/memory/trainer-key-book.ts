import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { TrainerKeys as Reported } from '../../../protocol/reports.ts';
import type { Worker } from '../model.ts';
import type { Store } from '../ports/index.ts';

/**
 * The config keys that the fleet's trainers accept. They are only in memory, because only warnings use them. After a
 * restart, the orchestrator requests the keys from the next worker that registers.
 */
export interface TrainerKeyBook {
  /**
   * Returns the trainers whose keys the worker should report. Until a worker has reported the keys of a trainer version,
   * they are requested at most once a minute.
   */
  keysToRequest(offers: readonly Offer[], now: number): readonly string[];
  keep(offer: Offer, keys: readonly string[]): void;
  /** Returns the keys of all known versions of a trainer; null if no worker has reported any. */
  known(trainer: string): ReadonlySet<string> | null;
}

/** A trainer of a worker, as the worker has registered it. */
export interface Offer {
  readonly name: string;
  readonly version: string | null;
}

/** Maximum number of versions to remember per trainer. A worker could register any number of versions. */
const maxVersions = 8;
const requestAgainMs = 60_000;
/** Trainers that can list their keys. */
const withKeys: ReadonlySet<string> = new Set(['simpletuner', 'ai-toolkit', 'kohya', 'onetrainer']);

interface Book {
  /** Keys by version. The newest report is the last entry. */
  readonly lists: Map<string, readonly string[]>;
  /** Time of the last request by version, in ms. */
  readonly requestedAt: Map<string, number>;
  /** The keys of all versions; null before the first report. */
  all: ReadonlySet<string> | null;
}

export function createTrainerKeyBook(): TrainerKeyBook {
  const books = new Map<string, Book>();
  const bookOf = (name: string): Book => {
    const book = books.get(name) ?? { lists: new Map(), requestedAt: new Map(), all: null };
    books.set(name, book);
    return book;
  };
  return {
    keysToRequest(offers, now) {
      const names: string[] = [];
      for (const { name, version: reported } of offers) {
        if (!withKeys.has(name)) continue;
        const version = reported ?? '';
        const { lists, requestedAt } = bookOf(name);
        const lastRequestAt = requestedAt.get(version) ?? Number.NEGATIVE_INFINITY;
        if (lists.has(version) || now - lastRequestAt < requestAgainMs) continue;
        putLast(requestedAt, version, now);
        names.push(name);
      }
      return names;
    },
    keep({ name, version }, keys) {
      const book = bookOf(name);
      putLast(book.lists, version ?? '', keys);
      book.all = new Set([...book.lists.values()].flat());
    },
    known: trainer => books.get(trainer)?.all ?? null,
  };
}

/** Adds an entry at the end. Removes the oldest entries if there are too many. */
function putLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of [...map.keys()].slice(0, -maxVersions)) map.delete(oldest);
}

interface TrainerKeyDeps {
  readonly store: Pick<Store, 'worker'>;
  readonly trainerKeys: TrainerKeyBook;
}

/** Calls of workers that report the keys of their trainers. */
export const createTrainerKeyCalls = ({ store, trainerKeys }: TrainerKeyDeps) => ({
  reportTrainerKeys(id: Worker['id'], { trainer, keys }: Reported): Outcome<{ readonly success: true }> {
    const offer = store.worker(id)?.agent?.trainers?.find(({ name }) => name === trainer);
    if (offer === undefined || !withKeys.has(trainer))
      return refuse(
        'not_registered',
        `The worker has not registered a trainer ${trainer} with a list of keys`,
      );
    trainerKeys.keep(offer, keys);
    return accept({ success: true });
  },
});
