import { useMemo, useState } from 'react';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { isFinal, isWaiting, type JobDetail } from '../../../../protocol/job.ts';
import { detailOf } from '../../../api/session.ts';
import { useMay, usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { sizeText } from '../figures.ts';
import { aboutOutputs, Warnings } from '../warnings.tsx';
import { CheckpointTable } from './checkpoints.tsx';
import './files.css';
import { OtherTable } from './others.tsx';
import { type Files, useFiles } from './read-files.ts';
import { Samples } from './samples.tsx';
import { sortFiles } from './sorting.ts';
import { useDeletion } from './deletion.tsx';
import { Allowed } from '../../../app/guarded.tsx';
import { Confirm } from '../../../ui/dialog.tsx';
import { showToast, showFailure } from '../../../ui/toast.tsx';

interface JobProps {
  readonly job: JobDetail;
}

/** The uploaded files of a job: checkpoints, samples, models and others. */
export function JobFiles({ job }: JobProps) {
  const t = useT();
  const { read, failure, reload, more } = useFiles(job);
  const isEmpty = read !== null && read.files.length === 0 && read.checkpoints.length === 0;
  return (
    <div className="files" aria-busy={read === null && failure === null}>
      {failure !== null && (
        <Empty why={t('files.failed', { why: detailOf(failure) ?? t('error.unreachable') })}>
          <Button onClick={reload}>{t('files.again')}</Button>
        </Empty>
      )}
      {!isWaiting(job.status) && <Warnings warnings={aboutOutputs(job.warnings)} />}
      <OutstandingFiles job={job} />
      {isEmpty && <NoFiles job={job} onReload={reload} />}
      {read !== null && !isEmpty && <FileSections job={job} read={read} onReload={reload} onMore={more} />}
    </div>
  );
}

function reasonOf({ status }: JobDetail) {
  if (isFinal(status)) return 'ended';
  return isWaiting(status) ? 'waits' : 'runs';
}

function NoFiles({ job, onReload }: JobProps & { readonly onReload: () => void }) {
  const t = useT();
  return (
    <Empty why={t(`files.none.${reasonOf(job)}`)}>
      <p>
        {t('files.none.how')} <a href="/docs">{t('files.none.docs')}</a>
      </p>
      <Button onClick={onReload}>{t('files.refresh')}</Button>
    </Empty>
  );
}

interface FileSectionsProps extends JobProps {
  readonly read: Files;
  readonly onReload: () => void;
  readonly onMore: () => void;
}

function FileSections({
  job,
  read: { files, checkpoints, count, bytes, hasMore },
  onReload,
  onMore,
}: FileSectionsProps) {
  const t = useT();
  const may = useMay();
  const { samples, others } = useMemo(() => sortFiles(files, checkpoints), [files, checkpoints]);
  const { requestDeletion, busy, dialog } = useDeletion(job, onReload);
  return (
    <>
      <div className="files-head">
        <span role="status">{t('files.all', { count, size: sizeText(bytes, t.language) })}</span>
        <Button onClick={onReload}>{t('files.refresh')}</Button>
      </div>
      {!may(artifactsApi.download) && (
        <p className="muted">{t('files.mayNot', { what: t('tokens.may.queue.submit') })}</p>
      )}
      {checkpoints.length > 0 && (
        <CheckpointTable
          job={job}
          checkpoints={checkpoints}
          files={files}
          onDelete={requestDeletion}
          busy={busy}
        />
      )}
      {samples.length > 0 && <Samples job={job} samples={samples} onDelete={requestDeletion} busy={busy} />}
      {others.length > 0 && <OtherTable job={job} files={others} onDelete={requestDeletion} busy={busy} />}
      {hasMore && (
        <div>
          <Button onClick={onMore}>{t('files.more', { shown: files.length, of: count })}</Button>
        </div>
      )}
      {dialog}
    </>
  );
}

/** Shows how many files of a completed job its worker still has to upload. */
function OutstandingFiles({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const { client } = usePanel();
  const [isConfirming, setConfirming] = useState(false);
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
          <Button onClick={() => setConfirming(true)}>{t('files.outstanding.giveUp')}</Button>
        </div>
      </Allowed>
      {isConfirming && (
        <Confirm
          title={t('files.outstanding.ask')}
          consequence={t('files.outstanding.consequence', { worker: name })}
          act={t('files.outstanding.giveUp')}
          onConfirm={() => void giveUp()}
          onClose={() => setConfirming(false)}
        />
      )}
    </section>
  );
}
