import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import type { Client } from '../../../../protocol/client.ts';
import { differingKeys } from '../../../../protocol/compare-configs.ts';
import { valueText } from '../../../../protocol/config-values.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { Time } from '../../../ui/time.tsx';
import { useRunT } from '../../compare/texts.tsx';
import { readConfig } from '../../compare/use-runs.ts';

interface Changes {
  /** Number of keys whose values differ. */
  readonly count: number;
  /** The first `maxShown` of these keys, with the value in each config; undefined if the config lacks the key. */
  readonly shown: readonly {
    readonly key: string;
    readonly before: string | undefined;
    readonly after: string | undefined;
  }[];
}

/** Maximum number of changes to show; the rest is only counted. */
const maxShown = 6;

/** Compares the config of the job `after` with the config of the earlier job `before`. Returns null if the reads fail. */
async function readChanges(
  client: Client,
  before: JobId,
  after: JobId,
  signal: AbortSignal,
): Promise<Changes | null> {
  const [old, next] = await Promise.all([
    readConfig(client, before, signal),
    readConfig(client, after, signal),
  ]);
  if (old === null || next === null) return null;
  const keys = differingKeys([old, next]);
  return {
    count: keys.length,
    shown: keys
      .slice(0, maxShown)
      .map(key => ({ key, before: valueText(old, key), after: valueText(next, key) })),
  };
}

interface PreviousChangesProps {
  readonly job: JobView;
  readonly previous: JobId;
}

/** Shows the changes in the config of a job since its previous run. */
export function PreviousChanges({ job: { id }, previous }: PreviousChangesProps) {
  const t = useRunT();
  const { client } = usePanel();
  const queuedAt = useFleet(({ fleet }) => fleet.jobs.get(previous)?.queued_at);
  const [changes, setChanges] = useState<Changes | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    void readChanges(client, previous, id, controller.signal).then(read => {
      if (!controller.signal.aborted) setChanges(read);
    });
    return () => controller.abort();
  }, [client, previous, id]);
  if (changes === null) return null;
  if (changes.count === 0) return <p className="job-changes muted">{t('runs.unchanged')}</p>;
  const { count, shown } = changes;
  const absent = t('jobs.diff.absent');
  return (
    <div className="job-changes">
      <span className="muted">{t('runs.changed')}</span>
      <Link href={`/jobs/${previous}`}>{queuedAt === undefined ? previous : <Time at={queuedAt} />}</Link>
      <ul className="chips">
        {shown.map(({ key, before = absent, after = absent }) => (
          <li key={key} className="job-change" title={key}>
            {t('runs.change', { key: key.slice(key.lastIndexOf('.') + 1), before, after })}
          </li>
        ))}
      </ul>
      {count > shown.length && (
        <Link href={`/compare?jobs=${previous},${id}`}>
          {t('jobs.diff.more', { count: count - shown.length })}
        </Link>
      )}
    </div>
  );
}
