import type { CallFailure } from '../../../../protocol/client.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';

/** Changes one worker; returns why the server refused, or null. */
type ChangeWorker = (worker: WorkerView) => Promise<CallFailure | null>;

export interface BulkQuestionProps {
  readonly workers: readonly WorkerView[];
  /** Changes these workers. The others keep their state. */
  readonly onConfirm: (workers: readonly WorkerView[], change: ChangeWorker) => void;
  readonly onClose: () => void;
}
