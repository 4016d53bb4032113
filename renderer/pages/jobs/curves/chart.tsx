import { useId, useMemo, useState } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { aligned } from './aligned.ts';
import { type ChartPlan, titleOf } from './keys.ts';
import { Legend } from './legend.tsx';
import { type Compared, type Curves, linesBeside, linesOf, type AxisRange } from './lines.ts';
import type { Palette } from './palette.ts';
import { type Mark, Plot } from './plot.tsx';
import { summaryOf } from './summary.ts';
import { CurveTable } from './table.tsx';
import { type Names, summaryText, valueText } from './texts.ts';
import type { View } from './view.ts';

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
}

/** A metric as a curve or a table, with its current value and its range. */
export function Chart({ plan, curves, compared, view, ...props }: ChartProps) {
  const { range, marks, names, palette, width, onZoom } = props;
  const t = useT();
  const id = useId();
  const [isTable, setTable] = useState(false);
  const [point, setPoint] = useState<number | null>(null);
  const { axis, attempts, smoothing } = view;
  const isLog = view.isLog && plan.kind === 'trainer';
  const own = useMemo(() => linesOf(curves, plan, axis, attempts), [curves, plan, axis, attempts]);
  const lines = useMemo(
    () => [...own, ...linesBeside(curves, compared, plan, axis)],
    [own, curves, compared, plan, axis],
  );
  const data = useMemo(() => aligned(lines, { smoothing, isLog }), [lines, smoothing, isLog]);
  const shape = useMemo(
    () => ({ axis, isLog, palette, t, valueText: (value: number) => valueText(value, plan, t) }),
    [axis, isLog, palette, t, plan],
  );
  const summary = summaryOf(own);
  const title = titleOf(plan, t);
  const homeless = lines.reduce((sum, each) => sum + each.homeless, 0);
  const isDrawn = data.columns.some(({ value }) => value.some(cell => typeof cell === 'number'));
  const summaryLabel = summary === null ? t('curves.noNumber') : summaryText(summary, plan, axis, t);
  return (
    <section className="card curve" aria-labelledby={id}>
      <div className="curve-head">
        <h2 id={id}>{title}</h2>
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
      {homeless > 0 && <p className="muted">{t('curves.homeless', { count: homeless })}</p>}
      {data.leftOut > 0 && !isTable && (
        <p className="muted">{t('curves.leftOut', { count: data.leftOut })}</p>
      )}
    </section>
  );
}
