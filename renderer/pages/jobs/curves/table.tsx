import { useMemo } from 'react';
import { useT } from '../../../i18n/index.ts';
import { duration } from '../figures.ts';
import type { ChartPlan } from './keys.ts';
import type { Line } from './lines.ts';
import { type Row, rowsOf } from './summary.ts';
import { lineName, type Names, valueText, whole } from './texts.ts';

const maxRows = 200;

interface CurveTableProps {
  readonly title: string;
  readonly plan: ChartPlan;
  readonly lines: readonly Line[];
  readonly names: Names;
}

/** The chart's points as numbers. */
export function CurveTable({ title, plan, lines, names }: CurveTableProps) {
  const t = useT();
  const { rows, of } = useMemo(() => rowsOf(lines, maxRows), [lines]);
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
      {rows.length < of && <p className="muted">{t('curves.table.some', { shown: rows.length, of })}</p>}
    </>
  );
}
