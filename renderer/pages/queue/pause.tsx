import { type SubmitEvent, useState } from 'react';
import type { QueueView } from '../../../protocol/queue.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { usePanel } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Time } from '../../ui/time.tsx';
import { showFailure } from '../../ui/toast.tsx';

export function PauseButton() {
  const t = useT();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('queue.pause')}</Button>
      {isOpen && <PauseDialog onClose={() => setOpen(false)} />}
    </>
  );
}

export function PauseDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useT();
  const { client } = usePanel();
  const [note, setNote] = useState('');
  const pause = (event: SubmitEvent): void => {
    event.preventDefault();
    onClose();
    void client
      .call(queueApi.pause, { body: { note: note.trim() === '' ? null : note.trim() } })
      .then(answer => !answer.ok && showFailure(t, answer.failure));
  };
  return (
    <Dialog title={t('queue.pause')} onClose={onClose}>
      <form className="dialog-form" onSubmit={pause}>
        <p className="muted">{t('queue.pause.explain')}</p>
        <label>
          {t('queue.pause.note')}
          <input maxLength={500} value={note} onChange={({ target }) => setNote(target.value)} />
        </label>
        <footer className="dialog-foot">
          <Button kind="primary" type="submit">
            {t('queue.pause.act')}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Shows who paused the queue, when and why, with a button that resumes the queue. */
export function PausedBanner({ paused }: { readonly paused: NonNullable<QueueView['paused']> }) {
  const t = useT();
  const { client } = usePanel();
  const resume = async (): Promise<void> => {
    const answer = await client.call(queueApi.resume);
    if (!answer.ok) showFailure(t, answer.failure);
  };
  return (
    <div className="banner" role="status">
      <Icon name="draining" />
      <div className="banner-text">
        <span>
          <strong>{t('queue.paused', { by: paused.by })}</strong> <Time at={paused.since} />
        </span>
        {paused.note !== null && <q>{paused.note}</q>}
        <span className="muted">{t('queue.paused.nothing')}</span>
      </div>
      <Allowed call={queueApi.resume}>
        <Button kind="primary" onClick={() => void resume()}>
          {t('queue.resume')}
        </Button>
      </Allowed>
    </div>
  );
}
