import { type ReactNode, useCallback, useState } from 'react';
import { OpenerProvider } from '../../../ui/focus.ts';
import { type WorkerAction, type Outcomes, StartActionProvider } from '../actions.ts';
import { DrainDialog, DrainedDialog } from './drain-dialogs.tsx';
import { EditDialog, RemoveDialog, RotateDialog } from './change-dialogs.tsx';
import { IssuedDialog } from '../join/issued-dialog.tsx';
import { JoinDialog } from '../join/join-dialog.tsx';

interface Open {
  readonly action: WorkerAction;
  /** The element that had the focus before the first of several successive dialogs. */
  readonly opener: Element | null;
}

/** Lets its children open the dialogs of worker actions. Only one dialog is open at a time. */
export function ActionDialogs({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState<Open | null>(null);
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const start = useCallback((action: WorkerAction): void => {
    const { activeElement } = document;
    if (action.kind === 'drained') setOutcomes(new Map());
    setOpen(before => ({ action, opener: before?.opener ?? activeElement }));
  }, []);
  // An action may open the next dialog before its own one closes; keep that next one open.
  const close = (): void => setOpen(now => (now === open ? null : now));
  return (
    <StartActionProvider value={start}>
      {children}
      {open !== null && (
        <OpenerProvider value={open.opener}>
          {renderDialog(open.action, close, outcomes, setOutcomes)}
        </OpenerProvider>
      )}
    </StartActionProvider>
  );
}

function renderDialog(
  action: WorkerAction,
  onClose: () => void,
  outcomes: Outcomes,
  setOutcomes: (change: (known: Outcomes) => Outcomes) => void,
): ReactNode {
  switch (action.kind) {
    case 'join':
      return <JoinDialog onClose={onClose} />;
    case 'issued':
      return <IssuedDialog {...action} onClose={onClose} />;
    case 'edit':
      return <EditDialog worker={action.worker} onClose={onClose} />;
    case 'rotate':
      return <RotateDialog worker={action.worker} onClose={onClose} />;
    case 'remove':
      return <RemoveDialog worker={action.worker} onClose={onClose} />;
    case 'drain':
      return (
        <DrainDialog
          workers={action.workers}
          onClose={onClose}
          onOutcome={(id, outcome) => setOutcomes(known => new Map(known).set(id, outcome))}
        />
      );
    case 'drained':
      return <DrainedDialog workers={action.workers} outcomes={outcomes} onClose={onClose} />;
  }
}
