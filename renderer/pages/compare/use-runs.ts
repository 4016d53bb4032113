import { useCallback, useMemo, useRef, useState } from 'react';
import { useShallow } from 'zustand/react/shallow';
import type { CallFailure, Client } from '../../../protocol/client.ts';
import { JobId } from '../../../protocol/ids.ts';
import type { JobUsage, JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { useEventReads } from '../../app/use-event-reads.ts';
import { flatConfig, type Run } from './runs.ts';

/** Maximum number of jobs whose curves and configs are compared. */
export const maxRuns = 8;

/** The jobs that the URL selects. */
export type Selection =
  | { readonly kind: 'jobs'; readonly ids: readonly JobId[] }
  | { readonly kind: 'group'; readonly group: string };

/** Reads `?jobs=a,b` or `?group=name`. Ignores invalid ids and all ids after the eighth. */
export function parseSelection(params: URLSearchParams): Selection {
  const group = params.get('group');
  if (group !== null && group !== '') return { kind: 'group', group };
  const ids = (params.get('jobs') ?? '').split(',').flatMap(word => JobId.safeParse(word).data ?? []);
  return { kind: 'jobs', ids: [...new Set(ids)].slice(0, maxRuns) };
}

interface RunsRead {
  /** Null before the first answer. */
  readonly runs: readonly Run[] | null;
  /** Number of jobs in the URL that do not exist or that the user may not see. */
  readonly missing: number;
  readonly failure: CallFailure | null;
}

const nothingYet: RunsRead = { runs: null, missing: 0, failure: null };
/** Delay between an event and the next read of the jobs. */
const delayMs = 3_000;
/** Maximum number of jobs of a group in the table. */
const maxInGroup = 256;

/** Reads the jobs of a comparison, and reads them again after events. */
export function useRuns(selection: Selection): RunsRead {
  const { client } = usePanel();
  const [read, setRead] = useState(nothingYet);
  const configs = useRef(new Map<JobId, Run['config']>());
  const key = selection.kind === 'group' ? `group:${selection.group}` : selection.ids.join();
  const readAll = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const jobs = await readJobs(client, selectionOf(key), signal);
      if (signal.aborted) return;
      if (!jobs.ok) return setRead(was => ({ ...was, failure: jobs.failure }));
      // Configs never change, so each is read once.
      for (const { id } of jobs.value.filter(({ sweep }) => sweep === null).slice(0, maxRuns))
        if (!configs.current.has(id)) configs.current.set(id, await readConfig(client, id, signal));
      if (signal.aborted) return;
      const runs = jobs.value.map(job => ({
        job,
        config: configs.current.get(job.id) ?? null,
        usage: job.usage ?? null,
      }));
      setRead({ runs, missing: jobs.missing, failure: null });
    },
    [client, key],
  );
  useEventReads(readAll, delayMs);
  return read;
}

/** Returns the runs with the newest job data from the event stream. */
export function useLiveRuns(runs: readonly Run[]): readonly Run[] {
  const live = useFleet(useShallow(({ fleet }) => runs.map(({ job }) => fleet.jobs.get(job.id))));
  return useMemo(() => runs.map((run, at) => ({ ...run, job: { ...run.job, ...live[at] } })), [runs, live]);
}

/** Parses the `key` of `useRuns`. The key is a text, because the selection is a new object at each render. */
const selectionOf = (key: string): Selection =>
  key.startsWith('group:')
    ? { kind: 'group', group: key.slice('group:'.length) }
    : parseSelection(new URLSearchParams({ jobs: key }));

/** Job lists omit `usage`; single reads include it. */
type ReadJob = JobView & { readonly usage?: JobUsage | null };

type JobsRead =
  | { readonly ok: true; readonly value: readonly ReadJob[]; readonly missing: number }
  | { readonly ok: false; readonly failure: CallFailure };

async function readJobs(client: Client, selection: Selection, signal: AbortSignal): Promise<JobsRead> {
  if (selection.kind === 'group') {
    const query = { group: selection.group, order: 'asc', limit: maxInGroup } as const;
    const page = await client.call(queueApi.list, { query, signal });
    return page.ok ? { ok: true, value: page.value.entries, missing: 0 } : page;
  }
  const answers = await Promise.all(
    selection.ids.map(id => client.call(queueApi.get, { params: { id }, signal })),
  );
  const failed = answers.find(answer => !answer.ok && answer.failure.kind !== 'problem');
  if (failed !== undefined && !failed.ok) return failed;
  const value = answers.flatMap(answer => (answer.ok ? answer.value : []));
  return { ok: true, value, missing: answers.length - value.length };
}

/** Returns config and dataloader of a job; null if they cannot be read. */
export async function readConfig(client: Client, id: JobId, signal: AbortSignal): Promise<Run['config']> {
  const answer = await client.call(queueApi.config, { params: { id }, signal });
  return answer.ok ? flatConfig(answer.value.config, answer.value.dataloader) : null;
}
