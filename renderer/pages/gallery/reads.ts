import { useEffect, useRef, useState } from 'react';
import { artifactsApi, type SampleView } from '../../../protocol/artifacts-api.ts';
import type { CallFailure, Client } from '../../../protocol/client.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { usePanel } from '../../app/context.ts';
import { type GallerySample, mergeSamples } from './model.ts';

const pageSize = 500;
/** Maximum number of samples that load automatically. The user can load more. */
const maxLoaded = 5_000;
/** Maximum number of pages per poll when many samples are new. */
const maxNewPages = 4;
/** Size of the first page of a poll. It is small, because usually few samples are new. */
const pollSize = 50;
const pollMs = 5_000;

interface Page {
  readonly samples: readonly SampleView[];
  readonly next: string | null;
}
type PageRead =
  | { readonly ok: true; readonly page: Page }
  | { readonly ok: false; readonly failure: CallFailure };

async function readPage(
  client: Client,
  jobs: string,
  { cursor, limit = pageSize }: { readonly cursor: string | null; readonly limit?: number },
  signal: AbortSignal,
): Promise<PageRead> {
  const query = { limit, ...(jobs !== '' && { job: jobs }), ...(cursor !== null && { cursor }) };
  const answer = await client.call(artifactsApi.samples, { query, signal });
  if (!answer.ok) return answer;
  return { ok: true, page: { samples: answer.value.samples, next: answer.value.next_cursor } };
}

export interface SamplesRead {
  /** Newest first. */
  readonly samples: readonly GallerySample[];
  /** True after the first samples have loaded, or after the server has reported that there are none. */
  readonly isLoaded: boolean;
  readonly failure: CallFailure | null;
  /** Loads older samples; null when there are none, or when they are being loaded. */
  readonly more: (() => void) | null;
  readonly reload: () => void;
}

interface SamplesState extends Pick<SamplesRead, 'samples' | 'isLoaded'> {
  /** Cursor of the older samples; null when there are none, or while they are being loaded. */
  readonly next: string | null;
}

const nothingYet: SamplesState = { samples: [], next: null, isLoaded: false };

/**
 * Loads the samples of these jobs, newest first; an empty list means all jobs. The jobs must stay the same between
 * renders. Polls for new samples while the page is visible, because uploads cause no events.
 */
export function useSamples(jobs: readonly JobId[]): SamplesRead {
  const { client } = usePanel();
  const [state, setState] = useState(nothingYet);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  /** Where to start loading; `cursor` is null for the newest samples. A new object starts a new load. */
  const [start, setStart] = useState<{ readonly cursor: string | null }>({ cursor: null });
  const ids = jobs.join(',');
  useEffect(() => {
    const controller = new AbortController();
    const load = async (): Promise<void> => {
      let { cursor } = start;
      let loaded = 0;
      while (loaded < maxLoaded) {
        const read = await readPage(client, ids, { cursor }, controller.signal);
        if (controller.signal.aborted) return;
        if (!read.ok) return setFailure(read.failure);
        const { samples, next } = read.page;
        cursor = next;
        loaded += samples.length;
        const continues = next !== null && loaded < maxLoaded;
        setFailure(null);
        setState(was => ({
          samples: mergeSamples(was.samples, samples),
          next: continues ? null : next,
          isLoaded: was.isLoaded || samples.length > 0 || next === null,
        }));
        if (next === null) return;
      }
    };
    void load();
    return () => controller.abort();
  }, [client, ids, start]);
  const newest = useRef(-1);
  newest.current = state.samples[0]?.view.order ?? -1;
  useEffect(() => {
    if (!state.isLoaded) return undefined;
    return watchNewest({
      read: (cursor, limit, signal) => readPage(client, ids, { cursor, limit }, signal),
      newest: () => newest.current,
      onRead: read =>
        setState(was => {
          const samples = mergeSamples(was.samples, read);
          return samples === was.samples ? was : { ...was, samples };
        }),
    });
  }, [client, ids, state.isLoaded]);
  const { samples, next, isLoaded } = state;
  return {
    samples,
    isLoaded,
    failure,
    more: next === null ? null : () => setStart({ cursor: next }),
    reload: () => setStart({ cursor: null }),
  };
}

interface WatchDeps {
  readonly read: (cursor: string | null, limit: number, signal: AbortSignal) => Promise<PageRead>;
  /** The order of the newest known sample. */
  readonly newest: () => number;
  readonly onRead: (samples: readonly SampleView[]) => void;
}

/** Polls for new samples while the page is visible. Returns a function that stops the polling. */
function watchNewest({ read, newest, onRead }: WatchDeps): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const readNew = async (): Promise<void> => {
    let cursor: string | null = null;
    const newestShown = newest();
    for (let pages = 0; pages < maxNewPages; pages += 1) {
      const answer = await read(cursor, pages === 0 ? pollSize : pageSize, signal);
      if (signal.aborted || !answer.ok) return;
      const { samples, next } = answer.page;
      if (samples.length > 0) onRead(samples);
      if (next === null || samples.some(({ order }) => order <= newestShown)) return;
      cursor = next;
    }
  };
  const round = async (): Promise<void> => {
    if (!document.hidden) await readNew();
    if (!signal.aborted) timer = setTimeout(() => void round(), pollMs);
  };
  let timer = setTimeout(() => void round(), pollMs);
  return () => {
    clearTimeout(timer);
    controller.abort();
  };
}
