import { useEffect } from 'react';
import { createPageTexts } from '../app/page-texts.tsx';
import { signingOut, useFleet, usePanel } from '../app/context.ts';
import { type InstallKey, install } from '../i18n/en/install.ts';
import { endForeignSubscription, endSubscription } from './subscription.ts';

const { Texts, useTexts } = createPageTexts<InstallKey>(install, {
  es: async () => (await import('../i18n/es/install.ts')).install,
  zh: async () => (await import('../i18n/zh/install.ts')).install,
  hi: async () => (await import('../i18n/hi/install.ts')).install,
  ja: async () => (await import('../i18n/ja/install.ts')).install,
  pseudo: async () => (await import('../i18n/pseudo.ts')).pseudoOf(install),
});

interface RegistrationProps {
  /** Shows a message with an action. It is a property, because importing it here would split the first page's code. */
  readonly offer: (text: string, label: string, onClick: () => void) => void;
}

/** Registers the service worker, and offers to reload the page when a new version of the panel is available. */
export const Registration = (props: RegistrationProps) => (
  <Texts>
    <Registered {...props} />
  </Texts>
);

function Registered({ offer }: RegistrationProps) {
  const t = useTexts();
  const { user } = usePanel().person;
  const isLive = useFleet(({ stream }) => stream.kind === 'live');
  // The server may have been upgraded while it was unreachable.
  useEffect(() => {
    if (isLive) void register();
  }, [isLive]);
  useEffect(() => void endForeignSubscription(user), [user]);
  useEffect(() => {
    const end = (): void => void endSubscription();
    addEventListener(signingOut, end);
    return () => removeEventListener(signingOut, end);
  }, []);
  useEffect(() => {
    const workers = navigator.serviceWorker;
    let hadWorker = workers.controller !== null;
    const noteWorker = (): void => {
      // The first service worker belongs to the version that is already open.
      if (hadWorker) offer(t('install.newVersion'), t('install.reload'), () => location.reload());
      hadWorker = true;
    };
    workers.addEventListener('controllerchange', noteWorker);
    return () => workers.removeEventListener('controllerchange', noteWorker);
  }, [t, offer]);
  return null;
}

/** Registers the service worker. Each further call checks for a new version. */
async function register(): Promise<void> {
  try {
    const registration = await navigator.serviceWorker.register('/service-worker.js', {
      updateViaCache: 'none',
    });
    await registration.update();
  } catch {
    // The development server has no service worker, and users can forbid service workers. The panel needs none.
  }
}
