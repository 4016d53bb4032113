import { useT } from '../../../i18n/index.ts';
import { nearest } from './aligned.ts';
import type { ChartPlan } from './keys.ts';
import type { Axis, Line, AxisRange } from './lines.ts';
import { colourNameOf, dashOf } from './palette.ts';
import { latestOf } from './summary.ts';
import { lineName, type Names, placeText, valueText } from './texts.ts';

interface LegendProps {
  readonly plan: ChartPlan;
  readonly lines: readonly Line[];
  readonly names: Names;
  readonly axis: Axis;
  /** Position of the pointer; null when it is outside. */
  readonly point: number | null;
  readonly range: AxisRange;
}

/** Tolerance as a share of the visible range, so that single points can be hit. */
const aim = 0.01;

/** Names the lines, each with its value at the pointer or its latest value. */
export function Legend({ plan, lines, names, axis, point, range }: LegendProps) {
  const t = useT();
  const slack = (range[1] - range[0]) * aim;
  return (
    <div className="curve-legend">
      <p className="muted">{point === null ? t('curves.latest') : placeText(Math.max(0, point), axis, t)}</p>
      <ul className="plain-list">
        {lines.map(line => {
          const value = point === null ? latestOf(line.dots)?.value : nearest(line.dots, point, slack)?.mean;
          return (
            <li key={line.id}>
              <Swatch style={line.style} />
              <span>{lineName(line, names, t)}</span>
              <strong>{typeof value === 'number' ? valueText(value, plan, t) : '–'}</strong>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const Swatch = ({ style }: { readonly style: number }) => (
  <svg className="curve-swatch" width="28" height="8" aria-hidden="true">
    <line
      x1="0"
      y1="4"
      x2="28"
      y2="4"
      stroke={`var(${colourNameOf(style)})`}
      strokeWidth="2"
      strokeDasharray={dashOf(style).join(' ')}
    />
  </svg>
);
