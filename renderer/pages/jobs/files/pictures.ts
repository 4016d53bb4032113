/** Bytes that are to be seen. */
export interface Picture {
  readonly key: string;
  /** Of its bytes: another file of the same name is another picture. */
  readonly sha256: string;
  /** One of a few that are pictures or films, whatever the bytes are. */
  readonly type: string;
}

export type Shown =
  | { readonly state: 'waiting' }
  | { readonly state: 'there'; readonly url: string }
  | { readonly state: 'failed' };

interface PicturesParts {
  /** Throws when they can not be had, or when it is told that nobody waits for them any more. */
  readonly read: (picture: Picture, signal: AbortSignal) => Promise<Blob>;
  readonly urls: {
    readonly createObjectURL: (bytes: Blob) => string;
    readonly revokeObjectURL: (url: string) => void;
  };
  /** So many are read at a time; the others wait in the order in which they were asked for. */
  readonly atOnce: number;
  /** So many that nobody looks at any more are kept, for whoever scrolls back. */
  readonly spare: number;
}

export interface Pictures {
  /** Tells what there is of it, now and whenever that changes. The answer lets go of it. */
  hold(picture: Picture, tell: (shown: Shown) => void): () => void;
  /** All addresses are void from then on. */
  close(): void;
}

interface Entry {
  readonly picture: Picture;
  readonly holders: Set<(shown: Shown) => void>;
  readonly over: AbortController;
  shown: Shown;
  isReading: boolean;
}

/**
 * The pictures that are looked at. They are fetched, and shown under addresses of this page alone: the server hands out what a
 * trainer has made as files to be kept, and never as anything that a browser opens.
 */
export function createPictures({ read, urls, atOnce, spare }: PicturesParts): Pictures {
  /** In the order in which they were last let go of. */
  const entries = new Map<string, Entry>();

  const drop = (id: string, entry: Entry): void => {
    entries.delete(id);
    entry.over.abort();
    if (entry.shown.state === 'there') urls.revokeObjectURL(entry.shown.url);
  };
  const say = (entry: Entry, shown: Shown): void => {
    entry.shown = shown;
    for (const tell of entry.holders) tell(shown);
  };
  const go = (): void => {
    const all = [...entries.values()];
    let free = atOnce - all.filter(({ isReading }) => isReading).length;
    for (const entry of all) {
      if (free <= 0) return;
      if (entry.shown.state !== 'waiting' || entry.isReading) continue;
      free -= 1;
      void fetchOne(entry);
    }
  };
  const fetchOne = async (entry: Entry): Promise<void> => {
    entry.isReading = true;
    try {
      const bytes = await read(entry.picture, entry.over.signal);
      if (!entry.over.signal.aborted)
        say(entry, {
          state: 'there',
          // As the type that its name says, and never as what the bytes would have it.
          url: urls.createObjectURL(new Blob([bytes], { type: entry.picture.type })),
        });
    } catch {
      if (!entry.over.signal.aborted) say(entry, { state: 'failed' });
    }
    entry.isReading = false;
    go();
  };
  const release = (id: string, entry: Entry): void => {
    if (entry.holders.size > 0 || entries.get(id) !== entry) return;
    if (entry.shown.state !== 'there') return drop(id, entry);
    // To the end: it was looked at just now.
    entries.delete(id);
    entries.set(id, entry);
    const unheld = [...entries].filter(([, { holders }]) => holders.size === 0);
    for (const [eldest, each] of unheld.slice(0, Math.max(0, unheld.length - spare))) drop(eldest, each);
  };

  return {
    hold(picture, tell) {
      const id = `${picture.sha256} ${picture.type} ${picture.key}`;
      const entry = entries.get(id) ?? newEntry(picture);
      entries.set(id, entry);
      entry.holders.add(tell);
      tell(entry.shown);
      go();
      return () => {
        entry.holders.delete(tell);
        release(id, entry);
        go();
      };
    },
    close() {
      for (const [id, entry] of entries) drop(id, entry);
    },
  };
}

const newEntry = (picture: Picture): Entry => ({
  picture,
  holders: new Set(),
  over: new AbortController(),
  shown: { state: 'waiting' },
  isReading: false,
});
