import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { TrainerKeys as Reported } from '../../../protocol/worker-api.ts';
import type { Worker } from '../model.ts';
import type { Store } from '../ports/index.ts';

/**
 * The keys that the trainers of the fleet accept in their configs. Kept only in memory, because they are just for warnings: after a
 * start of the orchestrator, the next worker that registers is asked again.
 */
export interface TrainerKeyBook {
  /** Returns the trainers whose keys to ask the worker for: each at most once a minute, until a worker has reported them. */
  ask(offers: readonly Offer[], now: number): readonly string[];
  keep(offer: Offer, keys: readonly string[]): void;
  /** The keys of all known versions of a trainer together; null if no worker has reported any. */
  known(trainer: string): ReadonlySet<string> | null;
}

/** A trainer as a worker registers it. */
export interface Offer {
  readonly name: string;
  readonly version: string | null;
}

/** Of one trainer. A fleet has few, but a worker could register any number. */
const maxVersions = 8;
const askAgainMs = 60_000;
/** Trainers that have a list of their keys. */
const withKeys: ReadonlySet<string> = new Set(['simpletuner', 'ai-toolkit', 'kohya', 'onetrainer']);

interface Book {
  /** By version, the newest report last. */
  readonly lists: Map<string, readonly string[]>;
  readonly askedAt: Map<string, number>;
  all: ReadonlySet<string> | null;
}

export function createTrainerKeyBook(): TrainerKeyBook {
  const books = new Map<string, Book>();
  const bookOf = (name: string): Book => {
    const book = books.get(name) ?? { lists: new Map(), askedAt: new Map(), all: null };
    books.set(name, book);
    return book;
  };
  return {
    ask(offers, now) {
      const wanted = offers.filter(({ name, version }) => {
        if (!withKeys.has(name)) return false;
        const { lists, askedAt } = bookOf(name);
        const asked = askedAt.get(version ?? '');
        if (lists.has(version ?? '') || (asked !== undefined && now - asked < askAgainMs)) return false;
        putLast(askedAt, version ?? '', now);
        return true;
      });
      return wanted.map(({ name }) => name);
    },
    keep({ name, version }, keys) {
      const book = bookOf(name);
      putLast(book.lists, version ?? '', keys);
      book.all = new Set([...book.lists.values()].flat());
    },
    known: trainer => books.get(trainer)?.all ?? null,
  };
}

/** Makes it the last entry, and removes the oldest entries if there are too many. */
function putLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of [...map.keys()].slice(0, -maxVersions)) map.delete(oldest);
}

interface Parts {
  readonly store: Pick<Store, 'worker'>;
  readonly trainerKeys: TrainerKeyBook;
}

/** What workers report of their trainers. */
export const createTrainerKeyCalls = ({ store, trainerKeys }: Parts) => ({
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
