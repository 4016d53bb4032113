import { createContext, type RefObject, useContext, useEffect, useRef, useState } from 'react';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { urlOf } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { usePanel } from '../../../app/context.ts';
import type { Sample } from './sorting.ts';

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
  readonly maxParallel: number;
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

/** Loads the visible pictures and shows them from blob URLs, because the server sends trainer output only as attachments. @internal */
export function createPictures({ read, urls, maxParallel, spare }: PicturesDeps): Pictures {
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
    let free = maxParallel - all.filter(({ isReading }) => isReading).length;
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

/** A video may take long over a slow network. */
const patienceMs = 300_000;

export const fileUrl = (baseUrl: string, id: JobId, key: string): URL =>
  urlOf(baseUrl, artifactsApi.download.path, { id, key: key.split('/') });

const PicturesContext = createContext<Pictures | null>(null);
export const PicturesProvider = PicturesContext.Provider;

/** The pictures of one job while its files are shown; null on the first render. */
export function useJobPictures(id: JobId): Pictures | null {
  const { baseUrl } = usePanel();
  const [pictures, setPictures] = useState<Pictures | null>(null);
  useEffect(() => {
    const own = createPictures({
      async read({ key }, signal) {
        const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
        const answer = await fetch(fileUrl(baseUrl, id, key), { redirect: 'error', signal: patience });
        if (!answer.ok) throw new Error(`${key} was answered ${answer.status}`);
        return answer.blob();
      },
      urls: URL,
      maxParallel: 4,
      spare: 40,
    });
    setPictures(own);
    return () => own.close();
  }, [baseUrl, id]);
  return pictures;
}

export function usePicture({ file: { key, sha256 }, type }: Sample): Shown {
  const pictures = useContext(PicturesContext);
  const [shown, setShown] = useState<Shown>({ state: 'waiting' });
  useEffect(() => pictures?.hold({ key, sha256, type }, setShown), [pictures, key, sha256, type]);
  return shown;
}

/** Load pictures this far outside the viewport, so that they are ready when scrolled to. */
const margin = '300px';

/** Returns whether an element is visible or nearly so. */
export function useNear(): { readonly place: RefObject<HTMLSpanElement | null>; readonly isNear: boolean } {
  const place = useRef<HTMLSpanElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const watch = new IntersectionObserver(entries => setNear(entries.at(-1)?.isIntersecting === true), {
      rootMargin: margin,
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return { place, isNear };
}
