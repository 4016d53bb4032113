import { useState } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobView } from '../../../../protocol/job.ts';
import type { RequestKind } from '../../../../protocol/requests.ts';
import { detailOf } from '../../../api/session.ts';
import { useMay } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Menu } from '../../../ui/menu.tsx';
import { buttonsFor, useJobActions } from '../job-actions.tsx';

interface JobProps {
  readonly job: JobView;
}

const texts = {
  approve: 'jobs.act.approve',
  reject: 'jobs.act.reject',
  save: 'jobs.head.save',
  sample: 'jobs.head.sample',
  duplicate: 'jobs.head.duplicate',
  cancel: 'jobs.act.cancel',
} as const;

const kinds = { approve: 'primary', reject: 'danger', duplicate: 'plain', cancel: 'danger' } as const;

/** Shows the most frequent actions that are possible now as buttons, and all other actions in a menu. */
export function HeaderActions({ job }: JobProps) {
  const t = useT();
  const may = useMay();
  const { menuOf, perform } = useJobActions();
  const { busy, failure, send } = useRequests(job);
  const acts = buttonsFor(job, may);
  return (
    <div className="job-acts" role="group" aria-label={t('jobs.head.label')}>
      {acts.map(act => {
        if (act !== 'save' && act !== 'sample')
          return (
            <Button key={act} kind={kinds[act]} onClick={() => perform(act, job)}>
              {t(texts[act])}
            </Button>
          );
        const isBusy = busy.has(act);
        return (
          // `aria-disabled` keeps the focus on the button; `disabled` would lose it.
          <Button key={act} aria-disabled={isBusy} onClick={() => isBusy || send(act)}>
            {t(isBusy ? 'jobs.head.busy' : texts[act])}
          </Button>
        );
      })}
      <Menu label={t('jobs.act.menu', { config: shownName(job) })} items={menuOf(job, acts)} />
      {failure !== null && (
        <p className="trouble job-acts-failure" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}

/** Sends requests to the trainer. `failure` is the last failure and stays until the next request. */
function useRequests(job: JobView) {
  const t = useT();
  const { request } = useJobActions();
  const [busy, setBusy] = useState<ReadonlySet<RequestKind>>(new Set());
  const [failure, setFailure] = useState<string | null>(null);
  const send = async (what: RequestKind): Promise<void> => {
    setBusy(was => new Set([...was, what]));
    setFailure(null);
    const failed = await request(what, job);
    setBusy(was => new Set([...was].filter(each => each !== what)));
    if (failed === null) return;
    const why = detailOf(failed) ?? t('error.unreachable');
    setFailure(t('jobs.head.failed', { action: t(texts[what]), why }));
  };
  return { busy, failure, send: (what: RequestKind) => void send(what) };
}
