import { createContext, type RefObject, useContext, useEffect, useRef, useState } from 'react';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { urlOf } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { usePanel } from '../../../app/context.ts';
import type { Sample } from './sorting.ts';

/** An image or video of a job. */
export interface Picture {
  readonly job: JobId;
  readonly key: string;
  /** SHA-256 of the content. A file that replaces another under the same name is a different picture. */
  readonly sha256: string;
  /** Media type from a fixed list, chosen by the file's name and not by its content. */
  readonly type: string;
}

export type Shown =
  | { readonly state: 'waiting' }
  | { readonly state: 'there'; readonly url: string }
  | { readonly state: 'failed' };

interface PicturesDeps {
  /** Reads the content of a picture. Throws when the read fails or the signal aborts. */
  readonly read: (picture: Picture, signal: AbortSignal) => Promise<Blob>;
  readonly urls: {
    readonly createObjectURL: (bytes: Blob) => string;
    readonly revokeObjectURL: (url: string) => void;
  };
  /** Maximum number of concurrent reads. Further pictures wait in the order of their requests. */
  readonly maxParallel: number;
  /** Number of pictures without subscribers to keep, so that scrolling back is fast. */
  readonly maxUnused: number;
}

export interface Pictures {
  /** Calls `notify` with the current state of a picture and after each change. The returned function unsubscribes. */
  subscribe(picture: Picture, notify: (shown: Shown) => void): () => void;
  /** Aborts all reads and revokes all blob URLs. */
  close(): void;
}

interface Entry {
  readonly picture: Picture;
  readonly subscribers: Set<(shown: Shown) => void>;
  readonly controller: AbortController;
  shown: Shown;
  isReading: boolean;
}

/**
 * Loads pictures while they are visible. Shows them from blob URLs, because the server sends trainer output only as
 * attachments.
 * @internal
 */
export function createPictures({ read, urls, maxParallel, maxUnused }: PicturesDeps): Pictures {
  /** Pictures by their ids. A picture moves to the end when it loses its last subscriber. */
  const entries = new Map<string, Entry>();

  const drop = (id: string, entry: Entry): void => {
    entries.delete(id);
    entry.controller.abort();
    if (entry.shown.state === 'there') urls.revokeObjectURL(entry.shown.url);
  };
  const update = (entry: Entry, shown: Shown): void => {
    entry.shown = shown;
    for (const notify of entry.subscribers) notify(shown);
  };
  const startReads = (): void => {
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
      const bytes = await read(entry.picture, entry.controller.signal);
      if (!entry.controller.signal.aborted)
        update(entry, {
          state: 'there',
          // Use the type derived from the file name, so that the browser does not guess one from the content.
          url: urls.createObjectURL(new Blob([bytes], { type: entry.picture.type })),
        });
    } catch {
      if (!entry.controller.signal.aborted) update(entry, { state: 'failed' });
    }
    entry.isReading = false;
    startReads();
  };
  const handleUnused = (id: string, entry: Entry): void => {
    if (entry.subscribers.size > 0 || entries.get(id) !== entry) return;
    if (entry.shown.state !== 'there') return drop(id, entry);
    // Move the entry to the end, because it lost its last subscriber most recently.
    entries.delete(id);
    entries.set(id, entry);
    const unused = [...entries].filter(([, { subscribers }]) => subscribers.size === 0);
    for (const [eldest, each] of unused.slice(0, Math.max(0, unused.length - maxUnused))) drop(eldest, each);
  };

  return {
    subscribe(picture, notify) {
      const id = `${picture.job} ${picture.sha256} ${picture.type} ${picture.key}`;
      const entry = entries.get(id) ?? newEntry(picture);
      entries.set(id, entry);
      entry.subscribers.add(notify);
      notify(entry.shown);
      startReads();
      return () => {
        entry.subscribers.delete(notify);
        handleUnused(id, entry);
        startReads();
      };
    },
    close() {
      for (const [id, entry] of entries) drop(id, entry);
    },
  };
}

const newEntry = (picture: Picture): Entry => ({
  picture,
  subscribers: new Set(),
  controller: new AbortController(),
  shown: { state: 'waiting' },
  isReading: false,
});

/** Timeout of one read. A video may take long over a slow network. */
const readTimeoutMs = 300_000;

export const fileUrl = (baseUrl: string, id: JobId, key: string): URL =>
  urlOf(baseUrl, artifactsApi.download.path, { id, key: key.split('/') });

const PicturesContext = createContext<Pictures | null>(null);
export const PicturesProvider = PicturesContext.Provider;

/** Returns a loader of pictures; null on the first render. Frees the pictures when the component unmounts. */
export function usePictures(): Pictures | null {
  const { baseUrl } = usePanel();
  const [pictures, setPictures] = useState<Pictures | null>(null);
  useEffect(() => {
    const created = createPictures({
      async read({ job, key }, signal) {
        const limited = AbortSignal.any([signal, AbortSignal.timeout(readTimeoutMs)]);
        const answer = await fetch(fileUrl(baseUrl, job, key), { redirect: 'error', signal: limited });
        if (!answer.ok) throw new Error(`reading ${key} failed with HTTP ${answer.status}`);
        return answer.blob();
      },
      urls: URL,
      maxParallel: 4,
      maxUnused: 40,
    });
    setPictures(created);
    return () => created.close();
  }, [baseUrl]);
  return pictures;
}

/** Returns the state of a sample's picture, and loads the picture while the component is mounted. */
export function usePicture({ file: { job_id: job, key, sha256 }, type }: Sample): Shown {
  const pictures = useContext(PicturesContext);
  const [shown, setShown] = useState<Shown>({ state: 'waiting' });
  useEffect(
    () => pictures?.subscribe({ job, key, sha256, type }, setShown),
    [pictures, job, key, sha256, type],
  );
  return shown;
}

/** Distance from the viewport at which pictures load, so that they are ready when the user scrolls to them. */
const margin = '300px';

/** Returns true when the element is visible or close to the viewport. */
export function useNear(): {
  readonly frameRef: RefObject<HTMLSpanElement | null>;
  readonly isNear: boolean;
} {
  const frameRef = useRef<HTMLSpanElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const element = frameRef.current;
    if (element === null) return undefined;
    const watch = new IntersectionObserver(entries => setNear(entries.at(-1)?.isIntersecting === true), {
      rootMargin: margin,
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return { frameRef, isNear };
}
