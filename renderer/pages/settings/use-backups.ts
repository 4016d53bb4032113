import { useCallback, useEffect, useState } from 'react';
import { backupApi, type BackupView } from '../../../protocol/backup-api.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { tell, tellFailure } from '../../ui/toast.tsx';

/** What all calls for backups ask for. */
const needed = 'admin.tokens';
/** A large database is copied and checked, and that twice for a restore. */
const patienceMs = 290_000;

export type BackupWork = { readonly kind: 'making' } | { readonly kind: 'restoring'; readonly name: string };

/** Null while they are looked for, and for who may not see them. */
export function useBackups() {
  const t = useT();
  const { client } = usePanel();
  const [backups, setBackups] = useState<readonly BackupView[] | null>(null);
  const [work, setWork] = useState<BackupWork | null>(null);
  const load = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      const input = signal === undefined ? {} : { signal };
      const session = await client.call(sessionApi.get, input);
      if (!session.ok) return;
      const { user, permissions } = session.value;
      // Who is signed out by now hears that from the next call, as with all others.
      if (user !== null && !permissions.includes(needed)) return;
      const answer = await client.call(backupApi.list, input);
      if (answer.ok && signal?.aborted !== true) setBackups(answer.value.backups);
    },
    [client],
  );
  useEffect(() => {
    const looking = new AbortController();
    void load(looking.signal);
    return () => looking.abort();
  }, [load]);

  const make = async (): Promise<void> => {
    setWork({ kind: 'making' });
    const answer = await client.call(backupApi.make, { timeoutMs: patienceMs });
    setWork(null);
    if (!answer.ok) return tellFailure(t, answer.failure);
    tell(t('backups.made'));
    await load();
  };
  const restore = async (name: string): Promise<void> => {
    setWork({ kind: 'restoring', name });
    const answer = await client.call(backupApi.restore, {
      params: { name },
      body: { confirm: name },
      timeoutMs: patienceMs,
    });
    setWork(null);
    if (answer.ok) tell(t('backups.restored', { saved: answer.value.saved.name }));
    else tellFailure(t, answer.failure);
    await load();
  };
  return { backups, work, make, restore };
}
