import { useCallback, useEffect, useState } from 'react';
import type { DesktopAnswer, DesktopApi, DesktopView } from '../../../../protocol/desktop-api.ts';
import { useT } from '../../../i18n/index.ts';
import { showTrouble } from '../../../ui/toast.tsx';

/** Runs an action of the desktop app, shows its answer, and reports a refusal. */
export type Ask = (act: () => Promise<DesktopAnswer>) => void;

export function useDesktop(desktop: DesktopApi): { readonly view: DesktopView | null; readonly ask: Ask } {
  const t = useT();
  const [view, setView] = useState<DesktopView | null>(null);
  const ask = useCallback<Ask>(
    act =>
      void act().then(answer => {
        if (answer.ok) setView(answer.view);
        else showTrouble(t, answer.detail);
      }),
    [t],
  );
  useEffect(() => ask(desktop.view), [ask, desktop]);
  return { view, ask };
}
