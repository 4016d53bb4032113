import { useEffect } from 'react';
import { Toaster, toast } from 'sonner';
import 'sonner/dist/styles.css';
import { useT } from '../i18n/index.ts';
import { noteReady } from './toast.tsx';

/** The region of the page in which messages appear. */
export function ToastRegion() {
  const t = useT();
  // Runs after the effect with which `Toaster` starts to accept messages.
  useEffect(() => noteReady(toast), []);
  return (
    <Toaster
      position="bottom-right"
      closeButton
      containerAriaLabel={t('toast.all')}
      toastOptions={{ closeButtonAriaLabel: t('toast.close') }}
    />
  );
}
