import { useEffect, useState } from 'react';
import { SearchText } from '../../../protocol/job-search.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../context.ts';

/** After this pause in typing, the search starts. */
const typingPauseMs = 200;
const noJobs: readonly JobView[] = [];

/** Searches the server for jobs that are not in memory, at most `limit`; returns an empty list until the answer arrives. */
export function useFoundJobs(text: string, isAllowed: boolean, limit: number): readonly JobView[] {
  const { client } = usePanel();
  const [found, setFound] = useState({ text: '', jobs: noJobs });
  const isSearchable = isAllowed && text !== '' && SearchText.safeParse(text).success;
  useEffect(() => {
    if (!isSearchable) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const timer = setTimeout(async () => {
      const answer = await client.call(queueApi.list, { query: { q: text, limit }, signal });
      if (answer.ok && !signal.aborted) setFound({ text, jobs: answer.value.entries });
    }, typingPauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [client, text, isSearchable, limit]);
  return isSearchable && found.text === text ? found.jobs : noJobs;
}
