import type { WorkerView } from '../../../../protocol/worker.ts';

interface EffectsProps {
  readonly workers: readonly WorkerView[];
  /** Returns a text that describes the effect on a worker. */
  readonly effectOn: (worker: WorkerView) => string;
}

/** Lists the effect of an action on each worker. */
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
