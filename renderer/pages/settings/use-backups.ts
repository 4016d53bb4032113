import { useState } from 'react';
import { backupApi, type BackupView } from '../../../protocol/backup-api.ts';
import { usePanel } from '../../app/context.ts';
import { useLoaded } from '../../app/loaded.ts';
import { useT } from '../../i18n/index.ts';
import { showToast, showFailure } from '../../ui/toast.tsx';

/** The server copies and checks a large database; for a restore it does so twice. */
const patienceMs = 290_000;

export type BackupWork = { readonly kind: 'making' } | { readonly kind: 'restoring'; readonly name: string };

/** `backups` is null while loading. */
export function useBackups() {
  const t = useT();
  const { client } = usePanel();
  const { value, reload } = useLoaded(backupApi.list);
  const [work, setWork] = useState<BackupWork | null>(null);

  const make = async (): Promise<void> => {
    setWork({ kind: 'making' });
    const answer = await client.call(backupApi.make, { timeoutMs: patienceMs });
    setWork(null);
    if (!answer.ok) return showFailure(t, answer.failure);
    showToast(t('backups.made'));
    return reload();
  };
  const restore = async (name: string): Promise<void> => {
    setWork({ kind: 'restoring', name });
    const answer = await client.call(backupApi.restore, {
      params: { name },
      body: { confirm: name },
      timeoutMs: patienceMs,
    });
    setWork(null);
    if (answer.ok) showToast(t('backups.restored', { saved: answer.value.saved.name }));
    else showFailure(t, answer.failure);
    reload();
  };
  const backups: readonly BackupView[] | null = value?.backups ?? null;
  return { backups, work, make, restore };
}
