import { lazy, type ReactNode, Suspense, useCallback, useState } from 'react';
import { OpenerProvider } from '../../../ui/focus.ts';
import { loadPart } from '../../../app/part.ts';
import { type WorkerAction, StartActionProvider } from '../actions.ts';
import { DrainDialog } from './drain-dialog.tsx';
import { EditDialog, RemoveDialog, RotateDialog } from './change-dialogs.tsx';
import { IssuedDialog } from '../join/issued-dialog.tsx';
import { JoinDialog } from '../join/join-dialog.tsx';
import { LazyUpdateDialog } from '../update/lazy.tsx';

/** Loaded on demand: the command palette loads this module on every page, but has no bulk actions. */
const BulkDialog = lazy(() =>
  loadPart(async () => ({ default: (await import('../bulk/index.tsx')).BulkDialog })),
);

interface Open {
  readonly action: WorkerAction;
  /** The element that had the focus before the dialog. For successive dialogs, before the first one. */
  readonly opener: Element | null;
}

/** Provides `useStartAction` to its children and renders the dialog of the action. Only one dialog is open at a time. */
export function ActionDialogs({ children }: { readonly children: ReactNode }) {
  const [open, setOpen] = useState<Open | null>(null);
  const start = useCallback((action: WorkerAction): void => {
    const { activeElement } = document;
    setOpen(before => ({ action, opener: before?.opener ?? activeElement }));
  }, []);
  // A dialog may open the next dialog before it closes. Keep that next dialog open.
  const close = (): void => setOpen(now => (now === open ? null : now));
  return (
    <StartActionProvider value={start}>
      {children}
      {open !== null && (
        <OpenerProvider value={open.opener}>{renderDialog(open.action, close)}</OpenerProvider>
      )}
    </StartActionProvider>
  );
}

function renderDialog(action: WorkerAction, onClose: () => void): ReactNode {
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
      return <DrainDialog worker={action.worker} onClose={onClose} />;
    case 'update':
      return <LazyUpdateDialog workers={action.workers} onClose={onClose} />;
    case 'bulk':
      return (
        <Suspense fallback={null}>
          <BulkDialog what={action.what} workers={action.workers} onClose={onClose} />
        </Suspense>
      );
  }
}
