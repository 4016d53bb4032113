import { useCallback, useEffect, useMemo, useState } from 'react';
import type { Client } from '../../protocol/client.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { watchingClient } from '../api/client.ts';
import { followFleet } from '../api/follow.ts';
import { openStream } from '../api/stream/index.ts';
import { loadLanguage, type Translator, TranslatorProvider } from '../i18n/index.ts';
import { type PreferencesStore, usePreferences } from '../state/preferences.ts';
import { createFleetStore } from '../state/store.ts';
import { Toaster } from '../ui/toast.tsx';
import { type Panel, PanelProvider } from './context.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

interface AppProps {
  readonly client: Client;
  readonly baseUrl: string;
  readonly preferences: PreferencesStore;
}

/** `unknown` until the server has said who we are. */
type Access = 'unknown' | 'signed out' | 'signed in';

export function App({ client, baseUrl, preferences }: AppProps) {
  const translator = useLanguage(preferences);
  useTheme(preferences);
  const [access, setAccess] = useState<Access>('unknown');
  useEffect(() => {
    const looking = new AbortController();
    void client.call(sessionApi.get, { signal: looking.signal }).then(answer => {
      if (!looking.signal.aborted)
        setAccess(answer.ok && answer.value.user !== null ? 'signed in' : 'signed out');
    });
    return () => looking.abort();
  }, [client]);
  const signedIn = useCallback(() => setAccess('signed in'), []);
  const panel = useMemo((): Panel => {
    const signOut = (): void => {
      void client.call(sessionApi.signOut).then(() => setAccess('signed out'));
    };
    // What a page asks for may be the first to show that the session was ended elsewhere.
    const watching = watchingClient(client, () => setAccess('signed out'));
    return { client: watching, baseUrl, preferences, fleet: createFleetStore(), signOut };
  }, [client, baseUrl, preferences]);
  useEffect(() => {
    if (access !== 'signed in') return undefined;
    const onSignedOut = (): void => setAccess('signed out');
    return followFleet({ client, baseUrl, store: panel.fleet, openStream, onSignedOut });
  }, [access, client, baseUrl, panel.fleet]);

  if (translator === null || access === 'unknown') return null;
  return (
    <TranslatorProvider value={translator}>
      <PanelProvider value={panel}>
        {access === 'signed in' ? <Shell /> : <SignIn client={client} onSignedIn={signedIn} />}
        <Toaster />
      </PanelProvider>
    </TranslatorProvider>
  );
}

function useLanguage(preferences: PreferencesStore): Translator | null {
  const { language, zone } = usePreferences(preferences);
  const [translator, setTranslator] = useState<Translator | null>(null);
  useEffect(() => {
    let isWanted = true;
    void loadLanguage(language, zone).then(loaded => {
      if (!isWanted) return;
      document.documentElement.lang = loaded.language;
      // In a function of its own: a translator is one, and React would call it.
      setTranslator(() => loaded);
    });
    return () => {
      isWanted = false;
    };
  }, [language, zone]);
  return translator;
}

function useTheme(preferences: PreferencesStore): void {
  const { theme } = usePreferences(preferences);
  useEffect(() => {
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  }, [theme]);
}
