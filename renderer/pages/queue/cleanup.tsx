import { type SubmitEvent, useState } from 'react';
import type { CallFailure, CallResult, Client } from '../../../protocol/client.ts';
import { finalStatuses } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { showToast, showFailure } from '../../ui/toast.tsx';
import { TextField } from '../jobs/field.tsx';
import { isOld, limitOf } from './order.ts';

/** Maximum age in days that the cleanup call accepts. */
const maxDays = 365;

interface Found {
  readonly days: number;
  readonly count: number;
  /** True if not all jobs were read, so that there may be more old jobs. */
  readonly isMore: boolean;
}

export function Cleanup() {
  const t = useT();
  const { client } = usePanel();
  const [text, setText] = useState('30');
  const [isCounting, setCounting] = useState(false);
  const [oldJobs, setOldJobs] = useState<Found | null>(null);
  const typed = limitOf(text) ?? 0;
  const days = typed >= 1 && typed <= maxDays ? typed : undefined;
  const count = async (): Promise<void> => {
    if (days === undefined) return;
    setCounting(true);
    const counted = await countOld(client, days);
    setCounting(false);
    if ('kind' in counted) showFailure(t, counted);
    else if (counted.count === 0 && !counted.isMore) showToast(t('queue.cleanup.none'));
    else setOldJobs(counted);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void count();
  };
  const clean = async ({ days: wanted }: Found): Promise<void> => {
    const answer = await client.call(queueApi.cleanup, { query: { days: wanted } });
    if (answer.ok) showToast(t('queue.cleanup.done', { count: answer.value.deleted }));
    else showFailure(t, answer.failure);
  };
  return (
    <form className="card" aria-labelledby="queue-cleanup" onSubmit={submit}>
      <h2 id="queue-cleanup">{t('queue.cleanup')}</h2>
      <p className="muted">{t('queue.cleanup.explain')}</p>
      <TextField
        isNumber
        label={t('queue.cleanup.days')}
        error={days === undefined ? t('queue.cleanup.range') : undefined}
        value={text}
        onChange={setText}
      />
      <div>
        <Button type="submit" disabled={isCounting || days === undefined}>
          {t(isCounting ? 'queue.cleanup.counting' : 'queue.cleanup.count')}
        </Button>
      </div>
      {oldJobs !== null && (
        <Confirm
          title={t(oldJobs.isMore ? 'queue.cleanup.atLeast' : 'queue.cleanup.title', {
            count: oldJobs.count,
          })}
          consequence={t('queue.cleanup.consequence', { days: oldJobs.days })}
          act={t('queue.cleanup.act')}
          onConfirm={() => void clean(oldJobs)}
          onClose={() => setOldJobs(null)}
        />
      )}
    </form>
  );
}

/** Maximum number of pages to read. A page has 500 jobs. */
const maxPages = 20;

/** Counts old jobs. Reads up to 10,000 jobs, because the server has no call that counts them. */
async function countOld(client: Client, days: number): Promise<Found | CallFailure> {
  const now = Date.now();
  let count = 0;
  let cursor: string | null = null;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page = await endedPage(client, cursor);
    if (!page.ok) return page.failure;
    count += page.value.entries.filter(job => isOld(job, days, now)).length;
    cursor = page.value.next_cursor;
    if (cursor === null) return { days, count, isMore: false };
  }
  return { days, count, isMore: true };
}

const endedPage = (client: Client, cursor: string | null): Promise<CallResult<typeof queueApi.list>> =>
  client.call(queueApi.list, {
    query: { status: finalStatuses.join(','), limit: 500, ...(cursor === null ? {} : { cursor }) },
  });
