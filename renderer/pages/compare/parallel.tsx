import { lowestLoss } from '../jobs/best.ts';
import { figure } from '../jobs/figures.ts';
import { parallelAxes, type ParallelAxis, type Run, type Varied } from './runs.ts';
import { useRunT } from './texts.tsx';

interface ParallelProps {
  readonly runs: readonly Run[];
  readonly varied: Varied;
}

/** Sizes in pixels. `gap` is the distance between two axes. */
const gap = 150;
const height = 220;
const top = 40;
const left = 70;

/** Parallel coordinates: one line per job through its values and its loss. The job with the lowest loss stands out. */
export function Parallel({ runs, varied }: ParallelProps) {
  const t = useRunT();
  const axes = parallelAxes(runs, varied, t('runs.column.bestLoss'), loss => figure(loss, t.language));
  const best = lowestLoss(runs.map(({ job }) => job));
  const inOrder = runs.toSorted((a, b) => Number(a.job.id === best) - Number(b.job.id === best));
  const width = left * 2 + gap * (axes.length - 1);
  return (
    <section className="card" aria-labelledby="compare-parallel">
      <h2 id="compare-parallel">{t('runs.parallel')}</h2>
      <div className="compare-table" role="group" aria-label={t('runs.parallel')} tabIndex={0}>
        <svg
          className="parallel"
          role="img"
          aria-label={t('runs.parallel.label', { keys: varied.keys.join(', ') })}
          width={width}
          height={height + top + 20}
          viewBox={`0 0 ${width} ${height + top + 20}`}
        >
          {inOrder.map(run => (
            <polyline
              key={run.job.id}
              className="parallel-line"
              data-best={run.job.id === best}
              points={pointsOf(axes, run)}
            />
          ))}
          {axes.map((axis, at) => (
            <Axis key={axis.title + String(at)} axis={axis} x={left + at * gap} />
          ))}
        </svg>
      </div>
    </section>
  );
}

const yOf = (position: number): number => top + (1 - position) * height;

const pointsOf = (axes: readonly ParallelAxis[], run: Run): string =>
  axes
    .flatMap((axis, at) => {
      const position = axis.positionOf(run);
      return position === null ? [] : `${left + at * gap},${yOf(position)}`;
    })
    .join(' ');

const Axis = ({ axis: { title, ticks }, x }: { readonly axis: ParallelAxis; readonly x: number }) => (
  <g>
    <line className="parallel-axis" x1={x} x2={x} y1={top} y2={top + height} />
    <text className="parallel-title" x={x} y={top - 24} textAnchor="middle">
      {title}
    </text>
    {ticks.map(({ text, at }) => (
      <text key={text} className="parallel-tick" x={x + 6} y={yOf(at) - 6}>
        {text.length > 14 ? `${text.slice(0, 13)}…` : text}
      </text>
    ))}
  </g>
);
