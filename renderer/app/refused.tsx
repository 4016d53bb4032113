import { type SubmitEvent, useEffect, useState } from 'react';
import type { DesktopAnswer, DesktopApi, DesktopView } from '../../protocol/desktop-api.ts';
import { useT } from '../i18n/index.ts';
import { Button } from '../ui/button.tsx';
import { showTrouble } from '../ui/toast.tsx';
import mark from './icon.svg';

/** The desktop app has no sign-in form. It shows this when the fleet's orchestrator is unreachable or rejects the app's token. */
export function Refused({ desktop }: { readonly desktop: DesktopApi }) {
  const t = useT();
  const [view, setView] = useState<DesktopView | null>(null);
  const [token, setToken] = useState('');
  const hear = (answer: DesktopAnswer): void =>
    answer.ok ? setView(answer.view) : showTrouble(t, answer.detail);
  useEffect(() => void desktop.view().then(answer => answer.ok && setView(answer.view)), [desktop]);
  if (view === null) return null;
  const { shown, trouble, fleets } = view;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    // On success, the app reloads the page.
    if (shown !== null) void desktop.changeFleet({ id: shown, token }).then(hear);
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
          <Button onClick={() => void desktop.show(null).then(hear)}>{t('desktop.refused.here')}</Button>
        )}
      </form>
    </main>
  );
}
