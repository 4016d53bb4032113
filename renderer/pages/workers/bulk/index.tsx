import { useRef, useState } from 'react';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { FleetTexts } from '../../../app/fleet-texts.ts';
import type { BulkKind } from '../actions.ts';
import type { BulkQuestionProps } from './question.ts';
import { BulkDrain, BulkUndrain } from './drain.tsx';
import { BulkLabels } from './labels.tsx';
import { BulkResults, type Outcomes } from './results.tsx';

/** Maximum number of concurrent calls. A browser allows six connections per server, and the event stream uses one. */
const maxParallel = 4;

interface BulkDialogProps {
  readonly what: BulkKind;
  readonly workers: readonly WorkerView[];
  readonly onClose: () => void;
}

/** Asks for confirmation before an action on several workers, then shows the result for each worker. */
export function BulkDialog({ what, workers, onClose }: BulkDialogProps) {
  const [changed, setChanged] = useState<readonly WorkerView[] | null>(null);
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  /** True after the confirmation. The question then closes and calls `onClose`, which must not close the results. */
  const isConfirmed = useRef(false);
  const confirm: BulkQuestionProps['onConfirm'] = (chosen, change) => {
    isConfirmed.current = true;
    setChanged(chosen);
    void runConcurrently(chosen, maxParallel, async worker => {
      const failure = await change(worker);
      setOutcomes(before => new Map(before).set(worker.id, failure ?? 'done'));
    });
  };
  const ask = {
    workers,
    onConfirm: confirm,
    onClose: () => {
      if (!isConfirmed.current) onClose();
    },
  };
  return (
    <FleetTexts>
      {changed === null ? (
        <Question what={what} {...ask} />
      ) : (
        <BulkResults
          what={what}
          workers={changed}
          unchanged={workers.filter(worker => !isAmong(worker.id, changed))}
          outcomes={outcomes}
          onClose={onClose}
        />
      )}
    </FleetTexts>
  );
}

const isAmong = (id: WorkerId, workers: readonly WorkerView[]): boolean =>
  workers.some(worker => worker.id === id);

function Question({ what, ...props }: BulkQuestionProps & { readonly what: BulkKind }) {
  switch (what) {
    case 'drain':
      return <BulkDrain {...props} />;
    case 'undrain':
      return <BulkUndrain {...props} />;
    case 'labels':
      return <BulkLabels {...props} />;
  }
}

/** Runs an action for each item, at most `limit` at a time. */
export async function runConcurrently<T>(
  items: readonly T[],
  limit: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await action(next);
  };
  await Promise.all(Array.from({ length: limit }, work));
}
