import type { CallFailure } from '../../../../protocol/client.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';

/** Changes one worker. Returns the failure of the call; null for none. */
type ChangeWorker = (worker: WorkerView) => Promise<CallFailure | null>;

export interface BulkQuestionProps {
  readonly workers: readonly WorkerView[];
  /** Called when the user confirms, with the workers to change and the function that changes each of them. */
  readonly onConfirm: (workers: readonly WorkerView[], change: ChangeWorker) => void;
  readonly onClose: () => void;
}
