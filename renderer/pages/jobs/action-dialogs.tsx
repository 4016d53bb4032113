import { type SubmitEvent, useState } from 'react';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { priorityChoices, priorityText } from './figures.ts';

/** An action on a job, and the job that it would change. */
export interface ActionToConfirm {
  readonly act: 'cancel' | 'release' | 'priority' | 'reject' | 'delete';
  readonly job: JobView;
}

interface ActionDialogProps {
  readonly action: ActionToConfirm;
  readonly onClose: () => void;
}

interface JobDialogProps {
  readonly job: JobView;
  readonly onClose: () => void;
}

export function ActionDialog({ action: { act, job }, onClose }: ActionDialogProps) {
  switch (act) {
    case 'priority':
      return <PriorityDialog job={job} onClose={onClose} />;
    case 'reject':
      return <RejectDialog job={job} onClose={onClose} />;
    case 'cancel':
    case 'release':
    case 'delete':
      return <EndDialog act={act} job={job} onClose={onClose} />;
  }
}

const ends = {
  cancel: { call: queueApi.cancel, words: 'jobs.cancel', button: 'jobs.act.cancel' },
  release: { call: queueApi.release, words: 'jobs.release', button: 'jobs.act.release' },
  giveUp: { call: queueApi.release, words: 'jobs.giveUp', button: 'jobs.act.giveUp' },
  delete: { call: queueApi.remove, words: 'jobs.delete', button: 'jobs.act.delete' },
} as const;

function EndDialog({
  act,
  job,
  onClose,
}: JobDialogProps & { readonly act: 'cancel' | 'release' | 'delete' }) {
  const t = useT();
  const { client } = usePanel();
  const { call, words, button } = ends[act === 'release' && job.status === 'cancelling' ? 'giveUp' : act];
  const worker = job.worker_name ?? job.worker_id ?? t('jobs.cancel.nowhere');
  const values = { config: shownName(job), id: job.id, worker };
  const confirm = async (): Promise<void> => {
    const answer = await client.call(call, { params: { id: job.id } });
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <Confirm
      title={t(`${words}.title`, values)}
      consequence={t(`${words}.consequence`, values)}
      act={t(button)}
      back={t(act === 'release' ? 'jobs.keepWaiting' : 'jobs.keep')}
      onConfirm={() => void confirm()}
      onClose={onClose}
    />
  );
}

function RejectDialog({ job, onClose }: JobDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const [reason, setReason] = useState('');
  const reject = async (): Promise<void> => {
    const query = reason.trim() === '' ? {} : { reason: reason.trim() };
    const answer = await client.call(queueApi.reject, { params: { id: job.id }, query });
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <Confirm
      title={t('jobs.reject.title', { config: shownName(job) })}
      consequence={t('jobs.reject.consequence', { user: job.user })}
      act={t('jobs.act.reject')}
      onConfirm={() => void reject()}
      onClose={onClose}
    >
      <label>
        {t('jobs.reject.reason')}
        <input maxLength={500} value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
    </Confirm>
  );
}

function PriorityDialog({ job, onClose }: JobDialogProps) {
  const t = useT();
  const { client } = usePanel();
  const [priority, setPriority] = useState(job.priority);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onClose();
    void client
      .call(queueApi.setPriority, { params: { id: job.id }, body: { priority } })
      .then(answer => !answer.ok && showFailure(t, answer.failure));
  };
  return (
    <Dialog title={t('jobs.priority.title', { config: shownName(job) })} onClose={onClose}>
      <form className="dialog-form" onSubmit={submit}>
        <p className="muted">{t('jobs.priority.explain')}</p>
        <label>
          {t('jobs.column.priority')}
          <select value={priority} onChange={({ target }) => setPriority(Number(target.value))}>
            {priorityChoices(job.priority).map(number => (
              <option key={number} value={number}>
                {priorityText(number, t)}
              </option>
            ))}
          </select>
        </label>
        <footer className="dialog-foot">
          <Button kind="primary" type="submit">
            {t('jobs.priority.set')}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
