import type { ReactNode } from 'react';
import { useFleet } from '../../../app/context.ts';
import { duration, sizeText } from '../figures.ts';
import { StartTime } from '../start-time.tsx';
import { useSubmitT } from './texts.tsx';
import type { DryRun } from './use-live-answer.ts';

interface EstimatesProps {
  readonly answer: DryRun;
}

/** Estimates start time, run time, disk space and memory of the job from earlier runs with a similar config. */
export function Estimates({ answer }: EstimatesProps) {
  const t = useSubmitT();
  const earlier = answer.earlier ?? null;
  const seconds = earlier?.expected_s ?? null;
  const bytes = earlier?.output_bytes ?? null;
  return (
    <>
      <dl className="answer-figures">
        <Figure name={t('submit.start')}>
          <StartText answer={answer} />
        </Figure>
        <Figure name={t('submit.length')}>
          {seconds === null
            ? t('submit.unknown')
            : t('submit.about.time', { time: duration(seconds, t.language) })}
        </Figure>
        {bytes !== null && (
          <Figure name={t('submit.disk')}>{t('submit.upTo', { size: sizeText(bytes, t.language) })}</Figure>
        )}
      </dl>
      <MemoryBar answer={answer} />
      <p className="muted hint">
        {earlier === null ? t('submit.noEarlier') : t('submit.earlier', { count: earlier.runs })}
      </p>
    </>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Compares the peak memory of earlier runs with the GPU memory of the rig that would take the job. */
function MemoryBar({ answer }: EstimatesProps) {
  const t = useSubmitT();
  const needed = answer.earlier?.peak_memory_gb ?? null;
  const rig =
    answer.allocated_worker_id ?? answer.explanation.workers.find(({ fits }) => fits)?.worker_id ?? null;
  const worker = useFleet(({ fleet }) => (rig === null ? undefined : fleet.workers.get(rig)));
  const total = worker?.gpu_vram_gb ?? null;
  if (needed === null) return null;
  const number = new Intl.NumberFormat(t.language, { maximumFractionDigits: 1 });
  const isTight = total !== null && needed > total;
  const text =
    total === null || worker === undefined
      ? t('submit.memory', { needed: number.format(needed) })
      : t('submit.memoryOf', {
          needed: number.format(needed),
          total: number.format(total),
          worker: worker.name,
        });
  return (
    <div className="memory-bar" data-tone={isTight ? 'bad' : 'good'}>
      {total !== null && (
        <span className="memory-track" aria-hidden="true">
          <span style={{ width: `${Math.min(100, (100 * needed) / total)}%` }} />
        </span>
      )}
      <span>
        {text} {isTight && <strong className="trouble">{t('submit.tooSmall')}</strong>}
      </span>
    </div>
  );
}

/** The predicted start: a time, "now" or "unknown". */
function StartText({ answer }: { readonly answer: DryRun }) {
  const t = useSubmitT();
  const { predicted_start: start } = answer.explanation;
  if (answer.status === 'running' || start?.in_s === 0) return t('submit.start.now');
  return start === null ? t('submit.unknown') : <StartTime at={start.at} />;
}
