import { useCallback, useId, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { isWaiting } from '../../../protocol/job.ts';
import type { WaitGroup, WaitGroups as Groups } from '../../../protocol/wait-groups.ts';
import { useFleet, usePanel } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useEventReads } from '../../app/use-event-reads.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { findOnlyWorker, waitText } from '../jobs/wait-text.ts';
import { freeText, groupTitle } from './group-texts.ts';
import type { Order } from './order.ts';
import { useQueueT } from './texts.ts';

/** Delay between an event and the next read of the groups. */
const delayMs = 3_000;

const noGroups: Pick<Groups, 'groups' | 'ungrouped'> = { groups: [], ungrouped: 0 };

function useWaitGroups(): typeof noGroups | null {
  const { client } = usePanel();
  const [groups, setGroups] = useState<typeof noGroups | null>(null);
  const read = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const answer = await client.call(queueApi.waiting, { signal });
      if (signal.aborted) return;
      // After a failed first read, show no groups instead of a loading state.
      setGroups(was => (answer.ok ? answer.value : (was ?? noGroups)));
    },
    [client],
  );
  useEventReads(read, delayMs);
  return groups;
}

/** Lists the reasons why jobs wait, with the jobs of each reason. Omits the pause of the queue, which a banner already shows. */
export function WaitGroups({ order }: { readonly order: Order | null }) {
  const t = useQueueT();
  const id = useId();
  const read = useWaitGroups();
  const places = useMemo(
    () => new Map(order?.ids.map((job, index) => [job, order.places?.[index] ?? index + 1])),
    [order],
  );
  // Show an empty card until the groups have loaded, so that the table below does not move.
  const isLoading = useFleet(
    ({ fleet }) => read === null && Array.from(fleet.jobs.values()).some(({ status }) => isWaiting(status)),
  );
  const groups = read?.groups.filter(({ wait }) => wait.code !== 'paused') ?? [];
  if (groups.length === 0 && !isLoading) return null;
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>{t('queue.groups')}</h2>
      <ul className="wait-groups" aria-busy={isLoading}>
        {groups.map(group => (
          <Group key={group.job_ids[0]} group={group} places={places} />
        ))}
      </ul>
      {read !== null && read.ungrouped > 0 && (
        <p className="muted">{t('queue.group.rest', { count: read.ungrouped })}</p>
      )}
    </section>
  );
}

interface GroupProps {
  readonly group: WaitGroup;
  readonly places: ReadonlyMap<JobId, number>;
}

/** Number of jobs that an expanded group shows first, and that each click on the button adds. */
const stepJobs = 20;

function Group({ group, places }: GroupProps) {
  const t = useQueueT();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [limit, setLimit] = useState(stepJobs);
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const { wait, reason, job_ids: ids, count } = group;
  const shown = isOpen ? ids.slice(0, limit) : [];
  const only = count === 1 && ids[0] !== undefined ? jobs.get(ids[0]) : undefined;
  const worker = useFleet(({ fleet }) => findOnlyWorker(wait, fleet)?.name);
  const free = freeText(group, worker, t);
  return (
    <li>
      <div className="wait-head">
        <button
          type="button"
          className="wait-toggle"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(was => !was)}
        >
          <Icon name={isOpen ? 'up' : 'down'} />
          <strong>{groupTitle(group, only && shownName(only), t)}</strong>
        </button>
        <LimitMeter group={group} />
        <span className="muted">{free ?? waitText(wait, t, { worker }) ?? reason}</span>
        {wait.code === 'limit' && (
          <Allowed call={queueApi.limit}>
            <a href="#queue-limits" onClick={focusLimits}>
              {t('queue.group.limits')}
            </a>
          </Allowed>
        )}
      </div>
      <ol id={id} className="wait-jobs" hidden={!isOpen}>
        {shown.map(job => {
          const view = jobs.get(job);
          return (
            <li key={job}>
              <span className="wait-place">{places.get(job) ?? t('time.none')}</span>
              <Link href={`/jobs/${job}`}>{view === undefined ? job : shownName(view)}</Link>
              {view !== undefined && <span className="muted">{view.user}</span>}
            </li>
          );
        })}
      </ol>
      {isOpen && count > limit && (
        <Button kind="quiet" onClick={() => setLimit(was => was + stepJobs)}>
          {t('queue.group.more', { count: Math.min(stepJobs, count - limit) })}
        </Button>
      )}
    </li>
  );
}

/** Moves the focus to the form for limits, which is further down on the page. */
function focusLimits(event: { readonly preventDefault: () => void }): void {
  event.preventDefault();
  const title = document.querySelector('#queue-limits');
  title?.scrollIntoView({ block: 'start' });
  title?.closest('form')?.querySelector('input')?.focus();
}

/** Shows the used part of a limit as a bar. It is hidden from screen readers, because the text has the same numbers. */
function LimitMeter({ group: { wait } }: Pick<GroupProps, 'group'>) {
  const { running, max } = wait.params;
  if (wait.code !== 'limit' || typeof running !== 'number' || typeof max !== 'number' || max === 0)
    return null;
  return (
    <span className="limit-meter" aria-hidden="true">
      <span style={{ width: `${Math.min(100, (running / max) * 100)}%` }} />
    </span>
  );
}
