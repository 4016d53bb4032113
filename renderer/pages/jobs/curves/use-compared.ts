import { useEffect, useMemo, useRef, useState } from 'react';
import type { Client } from '../../../../protocol/client.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { showFailure } from '../../../ui/toast.tsx';
import { pointsFor, readCurves } from './asking.ts';
import type { Compared, Curves } from './lines.ts';
import type { View } from './view.ts';

/** Assumed number of curves per compared job. It makes their curves coarser than the job's own. */
const curvesOfEach = 20;

/** Loads the curves of the other jobs, and reloads them whenever those of this job (`shown`) reload. */
export function useCompared(
  { others, axis, zoom }: View,
  shown: Curves,
  widthPx: number,
): readonly Compared[] {
  const t = useT();
  const { client } = usePanel();
  const [read, setRead] = useState<ReadonlyMap<JobId, Compared>>(new Map());
  const wanted = others.join();
  // Keep the same array while the URL stays the same.
  const ids = useMemo(() => wanted.split(',').flatMap(word => JobId.safeParse(word).data ?? []), [wanted]);
  /** Jobs that could not be loaded; each is reported once. */
  const failed = useRef(new Set<JobId>());
  const [from, to] = zoom ?? [];
  useEffect(() => {
    const controller = new AbortController();
    const range = from === undefined || to === undefined ? null : ([from, to] as const);
    const wish = { axis, zoom: range, points: pointsFor(widthPx, curvesOfEach) };
    for (const id of ids) {
      void readOne(client, id, wish, controller.signal).then(result => {
        if (controller.signal.aborted) return;
        if (result.ok) setRead(was => new Map(was).set(id, result.value));
        else if (!failed.current.has(id)) showFailure(t, result.failure);
        if (result.ok) failed.current.delete(id);
        else failed.current.add(id);
      });
    }
    return () => controller.abort();
  }, [client, ids, axis, from, to, widthPx, shown, t]);
  return useMemo(() => ids.flatMap(id => read.get(id) ?? []), [ids, read]);
}

type Wish = Parameters<typeof readCurves>[2];

async function readOne(client: Client, id: JobId, wish: Wish, signal: AbortSignal) {
  const [job, curves] = await Promise.all([
    client.call(queueApi.get, { params: { id }, signal }),
    readCurves(client, id, wish, signal),
  ]);
  if (!job.ok) return job;
  if (!curves.ok) return curves;
  const name = `${job.value.config_name} (${id})`;
  return { ok: true, value: { id, name, curves: curves.value.shown } } as const;
}
