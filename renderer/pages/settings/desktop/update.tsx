import { useEffect } from 'react';
import type { AppUpdate, DesktopApi } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Progress } from '../../../ui/indicators.tsx';
import { Time } from '../../../ui/time.tsx';
import type { Perform } from './fleets.tsx';

/** States that change without user actions, so that the page must poll the app. */
const changing: ReadonlySet<AppUpdate['state']> = new Set(['checking', 'downloading']);
const refreshMs = 500;

interface UpdateProps {
  /** Version of this app. */
  readonly version: string;
  readonly update: AppUpdate;
  readonly desktop: DesktopApi;
  readonly perform: Perform;
}

/** Checks for a newer version of the app, downloads it, and installs it. */
export function Update({ version, update, desktop, perform }: UpdateProps) {
  const t = useT();
  useEffect(() => {
    if (!changing.has(update.state)) return undefined;
    const timer = setTimeout(() => perform(desktop.view), refreshMs);
    return () => clearTimeout(timer);
  }, [update, desktop, perform]);
  return (
    <section className="card" aria-labelledby="settings-update">
      <h2 id="settings-update">{t('desktop.update.title')}</h2>
      <div className="settings-update" aria-live="polite">
        <State version={version} update={update} start={step => perform(() => desktop.update(step))} />
      </div>
    </section>
  );
}

interface StateProps {
  readonly version: string;
  readonly update: AppUpdate;
  readonly start: (step: Parameters<DesktopApi['update']>[0]) => void;
}

function State({ version, update, start }: StateProps) {
  const t = useT();
  switch (update.state) {
    case 'current':
      return (
        <>
          <p>{t('desktop.update.current', { version })}</p>
          {update.checked_at !== null && (
            <p className="muted">
              {t('desktop.update.checked')} <Time at={new Date(update.checked_at).toISOString()} />
            </p>
          )}
          <Button onClick={() => start('check')}>{t('desktop.update.check')}</Button>
        </>
      );
    case 'checking':
      return <p>{t('desktop.update.checking')}</p>;
    case 'available':
      return (
        <>
          <p>{t('desktop.update.available', { version: update.version, current: version })}</p>
          <Notes text={update.notes} />
          <Button kind="primary" onClick={() => start('download')}>
            {t('desktop.update.download')}
          </Button>
        </>
      );
    case 'downloading':
      return <Download update={update} />;
    case 'ready':
      return (
        <>
          <p>{t('desktop.update.ready', { version: update.version })}</p>
          {update.waits_for_jobs && <p className="muted">{t('desktop.update.waits')}</p>}
          <Notes text={update.notes} />
          <Button kind="primary" onClick={() => start('install')}>
            {t('desktop.update.install')}
          </Button>
        </>
      );
    case 'failed':
      return (
        <>
          <p role="alert">{t(`desktop.update.problem.${update.problem}`, { detail: update.detail })}</p>
          <Button onClick={() => start('check')}>{t('desktop.update.again')}</Button>
        </>
      );
  }
}

/** Converts bytes to whole megabytes. */
const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);

function Download({ update }: { readonly update: Extract<AppUpdate, { state: 'downloading' }> }) {
  const t = useT();
  const { bytes, total_bytes: total } = update;
  const label = t('desktop.update.downloading', { version: update.version });
  return (
    <>
      <p>{label}</p>
      <Progress
        label={label}
        percent={total === 0 ? null : (100 * bytes) / total}
        text={
          total === 0 ? '' : t('desktop.update.progress', { done: megabytes(bytes), total: megabytes(total) })
        }
      />
    </>
  );
}

/** The release notes. They come from the update feed, so they are shown as text and never as HTML. */
function Notes({ text }: { readonly text: string }) {
  const t = useT();
  if (text === '') return null;
  return (
    <details>
      <summary>{t('desktop.update.notes')}</summary>
      <p className="settings-update-notes">{text}</p>
    </details>
  );
}
