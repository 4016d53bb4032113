import type { WorkerView } from '../../../../protocol/worker.ts';

interface EffectsProps {
  readonly workers: readonly WorkerView[];
  /** Says what will happen to a worker. */
  readonly effectOn: (worker: WorkerView) => string;
}

/** Lists what an action will do to each worker. */
export const Effects = ({ workers, effectOn }: EffectsProps) => (
  <ul className="worker-outcomes">
    {workers.map(worker => (
      <li key={worker.id}>
        <span>{worker.name}</span>
        <span className="muted">{effectOn(worker)}</span>
      </li>
    ))}
  </ul>
);
