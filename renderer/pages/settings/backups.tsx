import { useState } from 'react';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Time } from '../../ui/time.tsx';
import { TypedConfirm } from '../../ui/dialog.tsx';
import './backups.css';
import { usePanel, useLoaded } from '../../app/context.ts';
import { showToast, showFailure } from '../../ui/toast.tsx';
import { type BackupView, backupApi } from '../../../protocol/backup-api.ts';

/**
 * Returns the time of the newest hourly backup; null if there is none. `backups` must be sorted, newest first.
 * @internal
 */
export const lastHourly = (backups: readonly BackupView[]): string | null =>
  backups.find(({ kind }) => kind === 'hourly')?.at ?? null;

/** Converts bytes to megabytes, rounded for display. @internal */
export function megabytes(bytes: number): number {
  const size = bytes / 1_000_000;
  return size >= 10 ? Math.round(size) : Math.max(0.1, Math.round(size * 10) / 10);
}

/** Number of newest backups to show initially. A button shows all backups. */
const shownFirst = 6;

/** Lists the backups of the database. Users can create and restore backups. */
export function Backups() {
  const t = useT();
  const { backups, work, make, restore } = useBackups();
  const [areAllShown, setAllShown] = useState(false);
  const [chosen, setChosen] = useState<BackupView | null>(null);
  if (backups === null) return null;
  const shown = areAllShown ? backups : backups.slice(0, shownFirst);
  return (
    <section className="card" aria-labelledby="settings-backups">
      <h2 id="settings-backups">{t('backups.title')}</h2>
      <p className="muted">{t('backups.what')}</p>
      <p>
        {t('backups.hourly')} <Time at={lastHourly(backups)} />
      </p>
      {backups.length === 0 && <p className="muted">{t('backups.none')}</p>}
      <ul className="plain-list settings-backups">
        {shown.map(backup => (
          <li key={backup.name}>
            <Row backup={backup} isBusy={work !== null} onRestore={() => setChosen(backup)} />
          </li>
        ))}
      </ul>
      {shown.length < backups.length && (
        <div>
          <Button kind="quiet" onClick={() => setAllShown(true)}>
            {t('backups.all', { count: backups.length })}
          </Button>
        </div>
      )}
      <div className="settings-line">
        <Button disabled={work !== null} onClick={() => void make()}>
          {t('backups.make')}
        </Button>
        <span role="status">
          {work?.kind === 'making' && t('backups.making')}
          {work?.kind === 'restoring' && t('backups.restoring', { name: work.name })}
        </span>
      </div>
      {chosen !== null && (
        <Restore
          backup={chosen}
          onConfirm={() => void restore(chosen.name)}
          onClose={() => setChosen(null)}
        />
      )}
    </section>
  );
}

interface RowProps {
  readonly backup: BackupView;
  readonly isBusy: boolean;
  readonly onRestore: () => void;
}

function Row({ backup: { name, kind, at, bytes }, isBusy, onRestore }: RowProps) {
  const t = useT();
  return (
    <div className="settings-backup">
      <span>
        <Time at={at} style="absolute" />
      </span>
      <span>{t(`backups.kind.${kind}`)}</span>
      <span className="muted settings-backup-size">{t('backups.size', { size: megabytes(bytes) })}</span>
      <Button
        kind="quiet"
        disabled={isBusy}
        aria-label={t('backups.restore.of', { name })}
        onClick={onRestore}
      >
        {t('backups.restore')}
      </Button>
    </div>
  );
}

interface RestoreProps {
  readonly backup: BackupView;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function Restore({ backup: { name, at }, onConfirm, onClose }: RestoreProps) {
  const t = useT();
  return (
    <TypedConfirm
      name={name}
      title={t('backups.restore.title')}
      consequence={t('backups.restore.consequence')}
      act={t('backups.restore.act')}
      ask={
        <>
          {t('backups.restore.type')} <code className="settings-backup-name">{name}</code>
        </>
      }
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        {t('backups.restore.asOf')} <Time at={at} style="absolute" />
      </p>
      <ul className="settings-consequences">
        <li>{t('backups.restore.saved')}</li>
        <li>{t('backups.restore.workers')}</li>
        <li>{t('backups.restore.signIn')}</li>
      </ul>
    </TypedConfirm>
  );
}

/** Timeout of a backup or restore. It is long, because the server copies and checks the database, for a restore even twice. */
const timeoutMs = 290_000;

type BackupWork = { readonly kind: 'making' } | { readonly kind: 'restoring'; readonly name: string };

/** Returns the backups and the actions on them. `backups` is null while loading. */
function useBackups() {
  const t = useT();
  const { client } = usePanel();
  const { value, reload } = useLoaded(backupApi.list);
  const [work, setWork] = useState<BackupWork | null>(null);

  const make = async (): Promise<void> => {
    setWork({ kind: 'making' });
    const answer = await client.call(backupApi.make, { timeoutMs });
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
      timeoutMs,
    });
    setWork(null);
    if (answer.ok) showToast(t('backups.restored', { saved: answer.value.saved.name }));
    else showFailure(t, answer.failure);
    reload();
  };
  const backups: readonly BackupView[] | null = value?.backups ?? null;
  return { backups, work, make, restore };
}
