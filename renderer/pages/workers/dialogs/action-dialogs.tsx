import { type ReactNode, useCallback, useState } from 'react';
import { OpenerProvider } from '../../../ui/focus.ts';
import { type Act, type Outcomes, StartProvider } from '../actions.ts';
import { DrainDialog, DrainedDialog } from './drain-dialogs.tsx';
import { EditDialog, RemoveDialog, RotateDialog } from './change-dialogs.tsx';
import { IssuedDialog } from '../join/issued-dialog.tsx';
import { JoinDialog } from '../join/join-dialog.tsx';

interface Open {
  readonly act: Act;
  /** The element that had the focus before the first dialog of the sequence. */
  readonly opener: Element | null;
}

/** Provides the worker dialogs to its children. Only one dialog is open at a time. */
export function ActDialogs({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState<Open | null>(null);
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const start = useCallback((act: Act): void => {
    const { activeElement } = document;
    if (act.kind === 'drained') setOutcomes(new Map());
    setOpen(before => ({ act, opener: before?.opener ?? activeElement }));
  }, []);
  // When an action opens the next dialog, the closing one must not close it.
  const close = (): void => setOpen(now => (now === open ? null : now));
  return (
    <StartProvider value={start}>
      {children}
      {open !== null && (
        <OpenerProvider value={open.opener}>
          {dialogOf(open.act, close, outcomes, setOutcomes)}
        </OpenerProvider>
      )}
    </StartProvider>
  );
}

function dialogOf(
  act: Act,
  onClose: () => void,
  outcomes: Outcomes,
  setOutcomes: (change: (known: Outcomes) => Outcomes) => void,
): ReactNode {
  switch (act.kind) {
    case 'join':
      return <JoinDialog onClose={onClose} />;
    case 'issued':
      return <IssuedDialog {...act} onClose={onClose} />;
    case 'edit':
      return <EditDialog worker={act.worker} onClose={onClose} />;
    case 'rotate':
      return <RotateDialog worker={act.worker} onClose={onClose} />;
    case 'remove':
      return <RemoveDialog worker={act.worker} onClose={onClose} />;
    case 'drain':
      return (
        <DrainDialog
          workers={act.workers}
          onClose={onClose}
          onOutcome={(id, outcome) => setOutcomes(known => new Map(known).set(id, outcome))}
        />
      );
    case 'drained':
      return <DrainedDialog workers={act.workers} outcomes={outcomes} onClose={onClose} />;
  }
}
