import { useState } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { Call } from '../../../protocol/call.ts';
import type { CallResult } from '../../../protocol/client.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { relative, useNow } from '../../ui/time.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { troubleText } from '../workers/texts.ts';
import { LazyUpdateDialog } from '../workers/update/lazy.tsx';
import type { Need } from './figures.ts';

/** Number of needs to show initially. A button shows all needs. */
const shownAtFirst = 12;

interface NeedsProps {
  readonly needs: readonly Need[];
  /** False until all facts are loaded that needs follow from. */
  readonly isKnown: boolean;
}

/** Lists the needs, most urgent first. Without needs, the card says so and keeps its place, so that nothing moves. */
export function Needs({ needs, isKnown }: NeedsProps) {
  /** The workers in the update dialog. The list stays the same during the updates; null while the dialog is closed. */
  const [updating, setUpdating] = useState<readonly WorkerView[] | null>(null);
  return (
    <>
      {needs.length > 0 ? <List needs={needs} onUpdate={setUpdating} /> : <NoNeeds isKnown={isKnown} />}
      {updating !== null && <LazyUpdateDialog workers={updating} onClose={() => setUpdating(null)} />}
    </>
  );
}

function NoNeeds({ isKnown }: Pick<NeedsProps, 'isKnown'>) {
  const t = useT();
  return (
    <section className="card needs needs-none" aria-labelledby="overview-needs" aria-busy={!isKnown}>
      <h2 id="overview-needs">{t('overview.needsAttention')}</h2>
      <p className="muted">{isKnown ? t('overview.noNeeds') : '\u00A0'}</p>
    </section>
  );
}

function List({ needs, onUpdate }: Pick<ActProps, 'onUpdate'> & { readonly needs: readonly Need[] }) {
  const t = useT();
  const now = useNow(60_000);
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? needs : needs.slice(0, shownAtFirst);
  return (
    <section className="card needs" aria-labelledby="overview-needs">
      <h2 id="overview-needs">{t('overview.needsAttention')}</h2>
      <ul className="plain-list">
        {shown.map(need => (
          <li key={keyOf(need)} className="need">
            <span id={idOf(need)}>{textOf(need, t, now)}</span>
            <Act need={need} onUpdate={onUpdate} />
          </li>
        ))}
        {needs.length > shown.length && (
          <li>
            <Button kind="quiet" onClick={() => setShowsAll(true)}>
              {t('overview.viewAll', { count: needs.length })}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}

interface ActProps {
  readonly need: Need;
  readonly onUpdate: (workers: readonly WorkerView[]) => void;
}

/** The most useful action: a button if a single call solves the problem, otherwise a link to the right page. */
function Act({ need, onUpdate }: ActProps) {
  const t = useT();
  const { client, may } = usePanel();
  const described = { 'aria-describedby': idOf(need) };
  const report = (answer: CallResult<Call>): void => {
    if (!answer.ok) showFailure(t, answer.failure);
  };
  if (need.kind === 'approval' && may(queueApi.approve, need.job)) {
    const approve = (): void =>
      void client.call(queueApi.approve, { params: { id: need.job.id } }).then(report);
    return (
      <Button {...described} onClick={approve}>
        {t('queue.approve')}
      </Button>
    );
  }
  if (need.kind === 'quarantined' && may(workersApi.unquarantine)) {
    const unquarantine = (): void =>
      void client.call(workersApi.unquarantine, { params: { id: need.worker.id } }).then(report);
    return (
      <Button {...described} onClick={unquarantine}>
        {t('workers.act.unquarantine')}
      </Button>
    );
  }
  // Check `workersApi.update`, because the call that requests updates needs the same permission but loads with the dialog.
  if (need.kind === 'updates' && may(workersApi.update))
    return (
      <Button {...described} onClick={() => onUpdate(need.workers)}>
        {t('overview.act.update')}
      </Button>
    );
  return (
    <Link className="button button-plain" href={hrefOf(need)} {...described}>
      {t(`overview.act.${linkOf(need)}`)}
    </Link>
  );
}

function linkOf(need: Need): 'job' | 'reason' | 'worker' | 'workers' | 'failed' {
  if (need.kind === 'failed') return 'failed';
  if (need.kind === 'updates') return 'workers';
  if (need.kind === 'unsatisfiable') return 'reason';
  if (need.kind === 'waitsForOffline' && need.others > 0) return 'workers';
  return 'job' in need ? 'job' : 'worker';
}

function textOf(need: Need, t: Translator, now: number): string {
  switch (need.kind) {
    case 'silent':
      return t('overview.silentJob', {
        job: shownName(need.job),
        worker: need.job.worker_name ?? need.job.worker_id ?? '',
      });
    case 'unsatisfiable':
      return t('overview.unsatisfiable', { job: shownName(need.job), more: need.more });
    case 'approval':
      return t('overview.wantsApproval', { job: shownName(need.job), user: need.job.user });
    case 'gpuTrouble':
      return t('overview.gpuTrouble', {
        worker: need.worker.name,
        what: need.worker.gpu_troubles.map(trouble => troubleText(t, trouble)).join(', '),
      });
    case 'waitsForOffline': {
      const { worker, others, count } = need;
      const key = others === 0 ? 'overview.waitsForOffline' : 'overview.waitsForOfflineMany';
      return t(key, { worker: worker.name, others, count });
    }
    case 'failed':
      return t('overview.failedJobs', { count: need.count });
    case 'updates':
      return t('overview.updates', { count: need.workers.length });
    case 'updateFailed':
      return t('overview.updateFailed', {
        worker: need.worker.name,
        reason: need.worker.update?.order?.reason ?? '',
      });
    case 'offline':
    case 'shutDown': {
      const time = relative(Math.min(Date.parse(need.at), now), now, t.language);
      return t(`overview.${need.kind}`, { worker: need.worker.name, time });
    }
    case 'quarantined':
    case 'duplicate':
      return t(`overview.${need.kind}`, { worker: need.worker.name });
  }
}

/** Returns the page on which the user can solve the problem. */
function hrefOf(need: Need): string {
  if (need.kind === 'failed') return '/jobs?q=state:failed';
  if (need.kind === 'updates') return '/workers';
  if (need.kind === 'waitsForOffline' && need.others > 0) return '/workers?q=state:offline';
  return 'job' in need ? `/jobs/${need.job.id}` : `/workers/${need.worker.id}`;
}

function keyOf(need: Need): string {
  const group = need.kind === 'waitsForOffline' ? `${need.worker.id} ${need.others}` : '';
  return `${need.kind} ${hrefOf(need)} ${group}`;
}

/** Returns an element id, which must not contain spaces. */
const idOf = (need: Need): string =>
  `need-${keyOf(need)
    .trim()
    .replaceAll(/[^\w]+/g, '-')}`;
