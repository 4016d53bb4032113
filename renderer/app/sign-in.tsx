import { type SubmitEvent, useCallback, useEffect, useState } from 'react';
import type { CallFailure, Client } from '../../protocol/client.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { type Person, toPerson } from '../api/session.ts';
import { type MessageKey, useT } from '../i18n/index.ts';
import { Button } from '../ui/button.tsx';
import mark from './icon.svg';

export interface SignInProps {
  readonly client: Client;
  readonly onSignedIn: (person: Person | null) => void;
}

export function SignIn({ client, onSignedIn }: SignInProps) {
  const t = useT();
  const [token, setToken] = useState('');
  const [trouble, setTrouble] = useState<MessageKey | null>(null);
  const signIn = useCallback(
    async (body: { readonly token: string } | { readonly code: string }): Promise<void> => {
      const answer = await client.call(sessionApi.signIn, { body });
      if (answer.ok) onSignedIn(toPerson(answer.value));
      else setTrouble(troubleOf(answer.failure));
    },
    [client, onSignedIn],
  );
  useEffect(() => {
    // `takeCode` removes the code from the URL, because each code works only once.
    const redeemCode = (): void => {
      const code = takeCode();
      if (code !== null) void signIn({ code });
    };
    redeemCode();
    addEventListener('hashchange', redeemCode);
    return () => removeEventListener('hashchange', redeemCode);
  }, [signIn]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void signIn({ token: token.trim() });
  };
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <h1>
          <img src={mark} alt="" width={26} height={26} />
          {t('app.name')}
        </h1>
        <p>{t('signIn.explain')}</p>
        <label>
          {t('signIn.token')}
          <input
            type="password"
            autoComplete="current-password"
            required
            maxLength={512}
            value={token}
            onChange={event => setToken(event.target.value)}
          />
        </label>
        {trouble !== null && (
          <p role="alert" className="trouble">
            {t(trouble)}
          </p>
        )}
        <Button kind="primary" type="submit">
          {t('signIn.submit')}
        </Button>
      </form>
    </main>
  );
}

/** Removes the sign-in code from the URL, so that the code does not stay in the history. Returns the code, or null. */
function takeCode(): string | null {
  const [, code] = /^#sign-in=([\w-]+)$/.exec(location.hash) ?? [];
  if (code === undefined) return null;
  history.replaceState(null, '', location.pathname);
  return code;
}

function troubleOf(failure: CallFailure): MessageKey {
  if (failure.kind === 'unreachable') return 'signIn.unreachable';
  const code = failure.kind === 'problem' ? failure.problem.code : null;
  return code === 'code_invalid' ? 'signIn.used' : 'signIn.wrong';
}
