import { type ReactNode, useId, useMemo, useState } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { align, nearest } from './aligned.ts';
import { type ChartPlan, chartTitle } from './keys.ts';
import {
  type Compared,
  type Curves,
  toComparedLines,
  toLines,
  type AxisRange,
  type Axis,
  type Line,
} from './lines.ts';
import { type Palette, colourNameOf, dashOf } from './palette.ts';
import { type Mark, Plot } from './plot.tsx';
import {
  type Names,
  summaryText,
  valueText,
  summarize,
  lineName,
  placeText,
  latestOf,
  whole,
  type Row,
  rowsOf,
} from './texts.ts';
import type { View } from './view.ts';
import { duration } from '../figures.ts';

interface ChartProps {
  readonly plan: ChartPlan;
  readonly curves: Curves;
  readonly compared: readonly Compared[];
  readonly view: View;
  readonly range: AxisRange;
  readonly marks: readonly Mark[];
  readonly names: Names;
  readonly palette: Palette;
  readonly width: number;
  readonly onZoom: (range: AxisRange) => void;
  /** Content of the head, next to the button for the table. */
  readonly children?: ReactNode;
}

/** One metric as a curve or as a table, with its latest value and its range. */
export function Chart({ plan, curves, compared, view, ...props }: ChartProps) {
  const { range, marks, names, palette, width, onZoom, children } = props;
  const t = useT();
  const id = useId();
  const [isTable, setTable] = useState(false);
  const [point, setPoint] = useState<number | null>(null);
  const { axis, attempts, smoothing } = view;
  const isLog = view.isLog && plan.kind === 'trainer';
  const linesOfJob = useMemo(() => toLines(curves, plan, axis, attempts), [curves, plan, axis, attempts]);
  const lines = useMemo(
    () => [...linesOfJob, ...toComparedLines(curves, compared, plan, axis)],
    [linesOfJob, curves, compared, plan, axis],
  );
  const data = useMemo(() => align(lines, { smoothing, isLog }), [lines, smoothing, isLog]);
  const shape = useMemo(
    () => ({ axis, isLog, palette, t, valueText: (value: number) => valueText(value, plan, t) }),
    [axis, isLog, palette, t, plan],
  );
  // The comparison page has no main job, so its charts summarize all jobs.
  const summary = summarize(linesOfJob.length === 0 ? lines : linesOfJob);
  const title = chartTitle(plan, t);
  const withoutStep = lines.reduce((sum, each) => sum + each.withoutStep, 0);
  const isDrawn = data.columns.some(({ value }) => value.some(cell => typeof cell === 'number'));
  const summaryLabel = summary === null ? t('curves.noNumber') : summaryText(summary, plan, axis, t);
  return (
    <section className="card curve" aria-labelledby={id}>
      <div className="curve-head">
        <h2 id={id}>{title}</h2>
        {children}
        <Button kind="quiet" aria-pressed={isTable} onClick={() => setTable(was => !was)}>
          {t('curves.asTable')}
        </Button>
      </div>
      <p className="muted curve-summary">{summaryLabel}</p>
      {isTable && <CurveTable title={title} plan={plan} lines={lines} names={names} />}
      {!isTable && isDrawn && (
        <Plot
          label={t('curves.label', { title, summary: summaryLabel })}
          {...{ lines, data, shape, range, marks, width, onZoom }}
          onPoint={setPoint}
        />
      )}
      {!isTable && (lines.length > 1 || point !== null) && (
        <Legend {...{ plan, lines, names, axis, point, range }} />
      )}
      {withoutStep > 0 && <p className="muted">{t('curves.withoutStep', { count: withoutStep })}</p>}
      {data.leftOut > 0 && !isTable && (
        <p className="muted">{t('curves.leftOut', { count: data.leftOut })}</p>
      )}
    </section>
  );
}

const maxRows = 200;

interface CurveTableProps {
  readonly title: string;
  readonly plan: ChartPlan;
  readonly lines: readonly Line[];
  readonly names: Names;
}

/** The chart's points as numbers. */
function CurveTable({ title, plan, lines, names }: CurveTableProps) {
  const t = useT();
  const { rows, total } = useMemo(() => rowsOf(lines, maxRows), [lines]);
  const isBand = rows.some(({ dot }) => dot.count > 1);
  const number = (value: number | null): string => (value === null ? '–' : valueText(value, plan, t));
  const cells = ({ line, dot }: Row) => (
    <>
      {lines.length > 1 && <td>{lineName(line, names, t)}</td>}
      <td>{dot.step === null ? '–' : whole(dot.step, t)}</td>
      <td>{duration(dot.ms / 1_000, t.language)}</td>
      <td>{dot.mean === null ? t('curves.table.gap') : number(dot.mean)}</td>
      {isBand && <td>{number(dot.min)}</td>}
      {isBand && <td>{number(dot.max)}</td>}
    </>
  );
  return (
    <>
      <div className="curve-table" role="region" aria-label={t('curves.table', { title })} tabIndex={0}>
        <table className="events" aria-label={title}>
          <thead>
            <tr>
              {lines.length > 1 && <th scope="col">{t('curves.table.line')}</th>}
              <th scope="col">{t('curves.axis.step')}</th>
              <th scope="col">{t('curves.axis.time')}</th>
              <th scope="col">{isBand ? t('curves.table.mean') : t('curves.table.value')}</th>
              {isBand && <th scope="col">{t('curves.table.min')}</th>}
              {isBand && <th scope="col">{t('curves.table.max')}</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={row.id}>{cells(row)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length < total && (
        <p className="muted">{t('curves.table.some', { shown: rows.length, of: total })}</p>
      )}
    </>
  );
}

interface LegendProps {
  readonly plan: ChartPlan;
  readonly lines: readonly Line[];
  readonly names: Names;
  readonly axis: Axis;
  /** Position of the pointer on the axis; null while the pointer is outside the charts. */
  readonly point: number | null;
  readonly range: AxisRange;
}

/** Maximum distance between the pointer and a point that it selects, as a share of the visible range. */
const pointerTolerance = 0.01;

/** Names each line, with its value at the pointer or its latest value. */
function Legend({ plan, lines, names, axis, point, range }: LegendProps) {
  const t = useT();
  const slack = (range[1] - range[0]) * pointerTolerance;
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
