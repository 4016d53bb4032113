import { type ReactNode, useCallback, useState } from 'react';
import type { ValueOf } from '../../../protocol/client.ts';
import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { usePanel } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Confirm } from '../../ui/dialog.tsx';
import { showToast, showFailure } from '../../ui/toast.tsx';
import { sizeText } from '../jobs/figures.ts';
import { Version } from './cells.tsx';

/** The data to delete: a whole dataset, some of its versions, or old versions of any dataset. */
type DeletionRequest =
  | {
      readonly kind: 'dataset' | 'versions';
      readonly name: string;
      readonly versions: readonly DatasetView[];
    }
  | { readonly kind: 'old'; readonly versions: readonly DatasetView[] };

export type RequestDeletion = (request: DeletionRequest) => void;

interface Question {
  readonly request: DeletionRequest;
  /** The versions that the server would delete now. */
  readonly dryRun: ValueOf<typeof datasetsApi.prune>;
}

interface Deletion {
  readonly requestDeletion: RequestDeletion;
  readonly dialog: ReactNode;
}

/** Maximum number of versions that one call can delete. */
const maxVersions = 1_000;

/**
 * Asks for confirmation before it deletes versions. A dry run beforehand lets the dialog list exactly those versions
 * and the bytes that they free.
 */
export function useDeletion(onDone: () => void): Deletion {
  const t = useT();
  const { client } = usePanel();
  const [question, setQuestion] = useState<Question | null>(null);
  /** Deletes versions, or simulates the deletion. If nothing was or would be deleted, shows why and returns null. */
  const prune = useCallback(
    async (versions: readonly DatasetView[], isDryRun: boolean) => {
      const ids = versions.slice(0, maxVersions).map(({ id }) => id);
      const answer = await client.call(datasetsApi.prune, { body: { versions: ids, dry_run: isDryRun } });
      if (answer.ok && answer.value.removed.length > 0) return answer.value;
      if (answer.ok) showToast(t('data.delete.nothing'));
      else showFailure(t, answer.failure);
      onDone();
      return null;
    },
    [client, t, onDone],
  );
  const startDryRun = useCallback(
    async (request: DeletionRequest): Promise<void> => {
      const dryRun = await prune(request.versions, true);
      if (dryRun !== null) setQuestion({ request, dryRun });
    },
    [prune],
  );
  const remove = async ({ dryRun }: Question): Promise<void> => {
    const done = await prune(dryRun.removed, false);
    if (done === null) return;
    const size = sizeText(done.freed_bytes, t.language);
    showToast(t('data.deleted', { count: done.removed.length, size }));
    onDone();
  };
  const dialog = question !== null && (
    <DeleteDialog
      question={question}
      onConfirm={() => void remove(question)}
      onClose={() => setQuestion(null)}
    />
  );
  return { requestDeletion: useCallback(request => void startDryRun(request), [startDryRun]), dialog };
}

interface DeleteDialogProps {
  readonly question: Question;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Maximum number of versions to list; more would not fit on a phone. */
const maxListed = 8;

function DeleteDialog({ question, onConfirm, onClose }: DeleteDialogProps) {
  const t = useT();
  const { removed, freed_bytes: freed } = question.dryRun;
  const hidden = removed.length - maxListed;
  return (
    <Confirm
      title={dialogTitle(question, t)}
      consequence={
        freed === 0
          ? t('data.delete.freesNothing')
          : t('data.delete.frees', { size: sizeText(freed, t.language) })
      }
      act={t('data.delete.act')}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <ul className="data-doomed">
        {removed.slice(0, maxListed).map(({ id, name, version, files, bytes, newest }) => (
          <li key={id}>
            <strong translate="no">{name}</strong> <Version version={version} />{' '}
            <span className="muted">
              {t('data.filesAndSize', { count: files, size: sizeText(bytes, t.language) })}
            </span>{' '}
            {newest && <span className="chip">{t('data.newest')}</span>}
          </li>
        ))}
        {hidden > 0 && <li className="muted">{t('data.delete.more', { count: hidden })}</li>}
      </ul>
    </Confirm>
  );
}

/** Names the whole dataset only if the dry run covers all its versions, because a new job may use one of them by now. */
function dialogTitle({ request, dryRun: { removed } }: Question, t: Translator): string {
  const count = removed.length;
  if (request.kind === 'old') return t('data.delete.old', { count });
  const isWhole = request.kind === 'dataset' && count === request.versions.length;
  const { name } = request;
  return isWhole ? t('data.delete.dataset', { name }) : t('data.delete.versions', { name, count });
}
