import { type SubmitEvent, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import type { DesktopAnswer, DesktopApi, DesktopView } from '../../protocol/desktop-api.ts';
import { useT } from '../i18n/index.ts';
import { Button } from '../ui/button.tsx';
import { showTrouble } from '../ui/toast.tsx';
import mark from './icon.svg';

declare global {
  interface Window {
    /** Set only by the desktop app. */
    readonly desktop?: DesktopApi;
  }
}

/** The API of the desktop app around this page; null in a browser. */
export const desktop: DesktopApi | null = globalThis.window.desktop ?? null;

/** Opens a page of the panel when a link, a notification or the menu of the desktop app requests it. */
export function useDesktopPages(): void {
  const [, go] = useLocation();
  useEffect(() => desktop?.onGo(path => go(path)), [go]);
}

/** Shown in the desktop app when the orchestrator of the selected fleet is unreachable or rejects the app's token. */
export function Refused({ app }: { readonly app: DesktopApi }) {
  const t = useT();
  const [view, setView] = useState<DesktopView | null>(null);
  const [token, setToken] = useState('');
  const showAnswer = (answer: DesktopAnswer): void =>
    answer.ok ? setView(answer.view) : showTrouble(t, answer.detail);
  useEffect(() => void app.view().then(answer => answer.ok && setView(answer.view)), [app]);
  if (view === null) return null;
  const { shown, trouble, fleets } = view;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    // On success, the app reloads the page.
    if (shown !== null) void app.changeFleet({ id: shown, token }).then(showAnswer);
  };
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <h1>
          <img src={mark} alt="" width={26} height={26} />
          <span translate="no">{fleets.find(({ id }) => id === shown)?.name ?? t('app.name')}</span>
        </h1>
        <p role="alert">
          {trouble === null ? t('desktop.refused') : t('desktop.fleets.trouble', { detail: trouble })}
        </p>
        {shown !== null && (
          <label>
            {t('desktop.fleet.token')}
            <input
              type="password"
              autoComplete="off"
              required
              maxLength={512}
              value={token}
              onChange={event => setToken(event.target.value)}
            />
          </label>
        )}
        {shown !== null && (
          <Button kind="primary" type="submit">
            {t('desktop.fleet.save')}
          </Button>
        )}
        <Button onClick={() => location.reload()}>{t('desktop.refused.again')}</Button>
        {shown !== null && (
          <Button onClick={() => void app.show(null).then(showAnswer)}>{t('desktop.refused.here')}</Button>
        )}
      </form>
    </main>
  );
}
