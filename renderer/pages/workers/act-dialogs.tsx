import { type ReactNode, useCallback, useState } from 'react';
import { useFocusReturn } from '../../ui/focus-return.ts';
import { type Act, type Outcomes, StartProvider } from './acts.ts';
import { DrainDialog, DrainedDialog } from './drain-dialogs.tsx';
import { EditDialog } from './edit-dialog.tsx';
import { IssuedDialog } from './issued-dialog.tsx';
import { JoinDialog } from './join-dialog.tsx';
import { RemoveDialog } from './remove-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';

/** What is below may open any of the dialogs; one at a time is open. */
export function ActDialogs({ children }: { readonly children: ReactNode }) {
  const [act, setAct] = useState<Act | null>(null);
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const rememberFocus = useFocusReturn(act !== null);
  const start = useCallback(
    (next: Act): void => {
      rememberFocus();
      if (next.kind === 'drained') setOutcomes(new Map());
      setAct(next);
    },
    [rememberFocus],
  );
  // A dialog that closes as its act goes on to the next one does not close that one.
  const close = (): void => setAct(now => (now === act ? null : now));
  return (
    <StartProvider value={start}>
      {children}
      {act !== null && dialogOf(act, close, outcomes, setOutcomes)}
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
