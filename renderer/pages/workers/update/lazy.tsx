import { lazy, Suspense } from 'react';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { loadPart } from '../../../app/part.ts';

const Dialog = lazy(() => loadPart(async () => ({ default: (await import('./dialog.tsx')).UpdateDialog })));

interface LazyUpdateDialogProps {
  readonly workers: readonly WorkerView[];
  readonly onClose: () => void;
}

/** The update dialog. Its code loads when it opens, because few visits need the dialog. */
export const LazyUpdateDialog = (props: LazyUpdateDialogProps) => (
  <Suspense fallback={null}>
    <Dialog {...props} />
  </Suspense>
);
