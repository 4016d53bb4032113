/** A file to display. */
export interface Picture {
  readonly key: string;
  /** Hash of the content: another file of the same name is another picture. */
  readonly sha256: string;
  /** An image or video type from a fixed list, whatever the content. */
  readonly type: string;
}

export type Shown =
  | { readonly state: 'waiting' }
  | { readonly state: 'there'; readonly url: string }
  | { readonly state: 'failed' };

interface PicturesDeps {
  /** Reads the content. Throws when it cannot be read, or when the signal aborts. */
  readonly read: (picture: Picture, signal: AbortSignal) => Promise<Blob>;
  readonly urls: {
    readonly createObjectURL: (bytes: Blob) => string;
    readonly revokeObjectURL: (url: string) => void;
  };
  /** Maximum number of parallel reads; further ones wait in order of request. */
  readonly atOnce: number;
  /** Number of unused pictures to keep for scrolling back. */
  readonly spare: number;
}

export interface Pictures {
  /** Reports the state of a picture now and after each change. The returned function releases it. */
  hold(picture: Picture, tell: (shown: Shown) => void): () => void;
  /** Revokes all URLs. */
  close(): void;
}

interface Entry {
  readonly picture: Picture;
  readonly holders: Set<(shown: Shown) => void>;
  readonly over: AbortController;
  shown: Shown;
  isReading: boolean;
}

/** Loads the visible pictures and shows them from blob URLs, because the server sends trainer output only as attachments. */
export function createPictures({ read, urls, atOnce, spare }: PicturesDeps): Pictures {
  /** In the order in which they were last released. */
  const entries = new Map<string, Entry>();

  const drop = (id: string, entry: Entry): void => {
    entries.delete(id);
    entry.over.abort();
    if (entry.shown.state === 'there') urls.revokeObjectURL(entry.shown.url);
  };
  const update = (entry: Entry, shown: Shown): void => {
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
        update(entry, {
          state: 'there',
          // Use the type of the file name; the browser must not guess it from the content.
          url: urls.createObjectURL(new Blob([bytes], { type: entry.picture.type })),
        });
    } catch {
      if (!entry.over.signal.aborted) update(entry, { state: 'failed' });
    }
    entry.isReading = false;
    go();
  };
  const release = (id: string, entry: Entry): void => {
    if (entry.holders.size > 0 || entries.get(id) !== entry) return;
    if (entry.shown.state !== 'there') return drop(id, entry);
    // Move it to the end, because it was visible just now.
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
