import { useState } from 'react';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { showToast, showFailure } from '../../../ui/toast.tsx';
import { sizeText } from '../figures.ts';

/** Files of a completed job that its worker has not uploaded yet. */
export function OutstandingFiles({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const { client } = usePanel();
  const [isAsked, setAsked] = useState(false);
  const { outstanding, id, worker_name: worker, worker_id: workerId } = job;
  if (outstanding === null) return null;
  const { files, bytes, reason } = outstanding;
  const name = worker ?? workerId ?? '';
  const giveUp = async (): Promise<void> => {
    const answer = await client.call(artifactsApi.giveUp, { params: { id } });
    if (answer.ok) showToast(t('files.outstanding.givenUp'));
    else showFailure(t, answer.failure);
  };
  return (
    <section className="card files-outstanding">
      <p role="status">
        {files === null || bytes === null
          ? t('files.outstanding.uploading', { worker: name })
          : t('files.outstanding.left', { count: files, size: sizeText(bytes, t.language), worker: name })}
      </p>
      {reason !== null && <p className="muted">{t('files.outstanding.reason', { reason })}</p>}
      <Allowed call={artifactsApi.giveUp}>
        <div>
          <Button onClick={() => setAsked(true)}>{t('files.outstanding.giveUp')}</Button>
        </div>
      </Allowed>
      {isAsked && (
        <Confirm
          title={t('files.outstanding.ask')}
          consequence={t('files.outstanding.consequence', { worker: name })}
          act={t('files.outstanding.giveUp')}
          onConfirm={() => void giveUp()}
          onClose={() => setAsked(false)}
        />
      )}
    </section>
  );
}
