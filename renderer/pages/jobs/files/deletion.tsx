import { type ReactNode, useState } from 'react';
import type { ArtifactView, CheckpointView } from '../../../../protocol/artifact.ts';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import type { CallFailure } from '../../../../protocol/client.ts';
import { isFinal, type JobDetail } from '../../../../protocol/job.ts';
import { detailOf, isSignedOut } from '../../../api/session.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Confirm } from '../../../ui/dialog.tsx';
import { showToast, showFailure, showTrouble } from '../../../ui/toast.tsx';
import { sizeText } from '../figures.ts';
import { readFilesOf } from './read-files.ts';
import { sortForDeletion } from './sorting.ts';

/** The files to delete: one file, or all files of a checkpoint. */
export type DeletionTarget =
  | { readonly kind: 'file'; readonly file: ArtifactView }
  | { readonly kind: 'checkpoint'; readonly checkpoint: CheckpointView };

/** Props of every file list that supports deletion. */
export interface DeletionProps {
  readonly onDelete: (target: DeletionTarget) => void;
  /** Name of the file or checkpoint that is being deleted; null when none is. */
  readonly busy: string | null;
}

const nameOf = (target: DeletionTarget): string =>
  target.kind === 'file' ? target.file.key : target.checkpoint.name;

interface Deletion {
  readonly requestDeletion: (target: DeletionTarget) => void;
  readonly busy: string | null;
  readonly dialog: ReactNode;
}

/** Asks for confirmation, then deletes the files. Continues after most failures and reports the last one. */
export function useDeletion(job: JobDetail, onDone: () => void): Deletion {
  const t = useT();
  const { client } = usePanel();
  const [toConfirm, setToConfirm] = useState<DeletionTarget | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const { id } = job;

  const removeAll = async (files: readonly ArtifactView[], name: string): Promise<void> => {
    let deleted = 0;
    let failure: CallFailure | null = null;
    for (const { key } of sortForDeletion(files)) {
      const answer = await client.call(artifactsApi.remove, { params: { id, key: key.split('/') } });
      if (answer.ok || isGone(answer.failure)) deleted += 1;
      else failure = answer.failure;
      if (failure !== null && (failure.kind === 'unreachable' || isSignedOut(failure))) break;
    }
    if (failure === null) return showToast(t('files.deleted', { name }));
    const values = { name, left: files.length - deleted, of: files.length };
    return showTrouble(
      t,
      t('files.delete.failed', { ...values, why: detailOf(failure) ?? t('error.unreachable') }),
    );
  };
  const remove = async (target: DeletionTarget): Promise<void> => {
    const name = nameOf(target);
    setBusy(name);
    const listed =
      target.kind === 'file'
        ? ({ ok: true, value: [target.file] } as const)
        : await readFilesOf(client, id, target.checkpoint, new AbortController().signal);
    if (listed.ok) await removeAll(listed.value, name);
    else showFailure(t, listed.failure);
    setBusy(null);
    onDone();
  };

  const dialog = toConfirm !== null && (
    <Question
      job={job}
      target={toConfirm}
      onConfirm={() => void remove(toConfirm)}
      onClose={() => setToConfirm(null)}
    />
  );
  return { requestDeletion: setToConfirm, busy, dialog };
}

/** Returns true when the file no longer exists, because another user has deleted it. */
const isGone = (failure: CallFailure): boolean =>
  failure.kind === 'problem' && failure.problem.code === 'artifact_not_found';

interface QuestionProps {
  readonly job: JobDetail;
  readonly target: DeletionTarget;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function Question({ job, target, onConfirm, onClose }: QuestionProps) {
  const t = useT();
  const bytes = target.kind === 'file' ? target.file.bytes : target.checkpoint.bytes;
  const count = target.kind === 'file' ? 1 : target.checkpoint.files;
  const isNext = target.kind === 'checkpoint' && target.checkpoint.newest;
  return (
    <Confirm
      title={t('files.delete.title', { name: nameOf(target) })}
      consequence={t('files.delete.consequence', { count, size: sizeText(bytes, t.language) })}
      act={t('files.delete')}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      {isNext && <p>{t(isFinal(job.status) ? 'files.delete.newestEnded' : 'files.delete.newest')}</p>}
    </Confirm>
  );
}
