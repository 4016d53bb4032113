import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react';
import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import type { Client } from '../../protocol/client.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { createEarlierLosses } from '../api/earlier-losses.ts';
import { followFleet } from '../api/follow.ts';
import { pollWorkers } from '../api/refresh.ts';
import {
  forgetDrafts,
  isSamePerson,
  isSignedOut,
  createMay,
  type Person,
  toPerson,
  watchingClient,
} from '../api/session.ts';
import { openStream } from '../api/stream/index.ts';
import { type LanguageTexts, loadLanguage, TextsProvider } from '../i18n/index.ts';
import { createFleetStore, type PreferencesStore, usePreferences } from '../state/stores.ts';
import { type Panel, PanelProvider, signingOut } from './context.ts';
import { desktop, Refused } from './desktop.tsx';
import { loadPart } from './part.ts';
import { Shell } from './shell.tsx';
import { SignIn, type SignInProps } from './sign-in.tsx';
import { Boundary } from './unavailable.tsx';

const ToastRegion = lazy(() =>
  loadPart(async () => ({ default: (await import('../ui/toast-region.tsx')).ToastRegion })),
);

interface AppProps {
  readonly client: Client;
  readonly baseUrl: string;
  readonly preferences: PreferencesStore;
}

/** `unknown` until the server has answered whether somebody is signed in. */
type Access = 'unknown' | 'signed out' | Person;

export function App({ client, baseUrl, preferences }: AppProps) {
  const texts = useLanguage(preferences);
  useTheme(preferences);
  const [access, setAccess] = useState<Access>('unknown');
  useEffect(() => {
    const controller = new AbortController();
    void client.call(sessionApi.get, { signal: controller.signal }).then(answer => {
      if (controller.signal.aborted) return;
      setAccess((answer.ok ? toPerson(answer.value) : null) ?? 'signed out');
    });
    return () => controller.abort();
  }, [client]);
  const updatePerson = useCallback(
    (now: Person | null) =>
      setAccess(was => {
        if (now === null) return 'signed out';
        return typeof was === 'object' && isSamePerson(was, now) ? was : now;
      }),
    [],
  );

  if (texts === null || access === 'unknown') return null;
  return (
    <TextsProvider value={texts}>
      {access === 'signed out' ? (
        <SignedOut client={client} onSignedIn={updatePerson} />
      ) : (
        <SignedIn {...{ client, baseUrl, preferences }} person={access} onPerson={updatePerson} />
      )}
      <Boundary onFailure={() => null}>
        <Suspense fallback={null}>
          <ToastRegion />
        </Suspense>
      </Boundary>
    </TextsProvider>
  );
}

/** In the desktop app, this shows an error page instead of the sign-in form, because the app signs in by itself. */
const SignedOut = (props: SignInProps) =>
  desktop === null ? <SignIn {...props} /> : <Refused app={desktop} />;

interface SignedInProps extends AppProps {
  readonly person: Person;
  /** Called with the signed-in user when that user changes; null when nobody is signed in. */
  readonly onPerson: (now: Person | null) => void;
}

/** Renders the panel with an empty store for each user, so that no data of the previous user remains. */
function SignedIn({ client, baseUrl, preferences, person, onPerson }: SignedInProps) {
  const panel = useMemo((): Panel => {
    const fleet = createFleetStore();
    const recheckPerson = async (): Promise<void> => {
      const answer = await client.call(sessionApi.get);
      if (answer.ok) onPerson(toPerson(answer.value));
    };
    const watching = watchingClient(client, {
      // A refused call may be the first sign that the session ended or was replaced in another tab.
      onRefused: failure => (isSignedOut(failure) ? onPerson(null) : void recheckPerson()),
      onDone: () => fleet.setState(({ acted }) => ({ acted: acted + 1 })),
    });
    const signOut = (): void => {
      dispatchEvent(new Event(signingOut));
      forgetDrafts(sessionStorage);
      void client.call(sessionApi.signOut).then(() => onPerson(null));
    };
    const earlierLosses = createEarlierLosses({ client: watching, store: fleet });
    const may = createMay(person);
    return { client: watching, baseUrl, preferences, fleet, person, may, signOut, earlierLosses };
  }, [client, baseUrl, preferences, person, onPerson]);
  const { client: watching, fleet: store, may } = panel;
  useEffect(() => {
    if (may(eventsApi.stream)) return followFleet({ client, baseUrl, store, may, openStream, onPerson });
    return may(workersApi.list) ? pollWorkers({ client: watching, store, page: document }) : undefined;
  }, [client, watching, baseUrl, store, may, onPerson]);
  return (
    <PanelProvider value={panel}>
      <Shell />
    </PanelProvider>
  );
}

function useLanguage(preferences: PreferencesStore): LanguageTexts | null {
  const { language, zone } = usePreferences(preferences);
  const [texts, setTexts] = useState<LanguageTexts | null>(null);
  useEffect(() => {
    let isWanted = true;
    void loadLanguage(language, zone, loadPart).then(loaded => {
      if (!isWanted) return;
      document.documentElement.lang = loaded.t.language;
      setTexts(loaded);
    });
    return () => {
      isWanted = false;
    };
  }, [language, zone]);
  return texts;
}

function useTheme(preferences: PreferencesStore): void {
  const { theme } = usePreferences(preferences);
  useEffect(() => {
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  }, [theme]);
}
