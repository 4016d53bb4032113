import type { UsageDay } from '../../../../protocol/usage-api.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { formatDay, formatUsage, type UsageFigure } from './format.ts';

interface DayBarsProps {
  readonly name: UsageFigure;
  readonly days: readonly UsageDay[];
  readonly currency: string | null;
}

/** A small bar for each day. Screen readers get the same data as a table. */
export function DayBars({ name, days, currency }: DayBarsProps) {
  const t = useFleetTexts();
  const max = Math.max(0, ...days.map(day => day[name] ?? 0));
  const textOf = (day: UsageDay): string => {
    const value = day[name];
    return value === null ? t('time.none') : formatUsage(t, name, value, currency);
  };
  const [first, last] = [days[0], days.at(-1)];
  return (
    <>
      <div className="usage-bars" aria-hidden="true">
        {days.map(day => (
          <span key={day.day} title={t('usage.ofDay', { day: formatDay(t, day.day), value: textOf(day) })}>
            <span style={{ height: `${max === 0 ? 0 : (100 * (day[name] ?? 0)) / max}%` }} />
          </span>
        ))}
      </div>
      <div className="usage-days muted" aria-hidden="true">
        {first !== undefined && <span>{formatDay(t, first.day)}</span>}
        {last !== undefined && <span>{t('usage.today')}</span>}
      </div>
      <table className="unseen">
        <caption>{t(`usage.${name}`)}</caption>
        <tbody>
          {days.map(day => (
            <tr key={day.day}>
              <th scope="row">{formatDay(t, day.day)}</th>
              <td>{textOf(day)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
