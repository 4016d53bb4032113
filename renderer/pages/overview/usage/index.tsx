import { useMemo } from 'react';
import { Link } from 'wouter';
import { settingsApi } from '../../../../protocol/settings-api.ts';
import { type UsageDay, usageApi } from '../../../../protocol/usage-api.ts';
import { useLoaded, useMay } from '../../../app/context.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { useRemembered } from '../../../state/remembered.ts';
import { useNow } from '../../../ui/time.tsx';
import { formatUsage, type UsageFigure } from './format.ts';
import { DayBars } from './bars.tsx';
import './usage.css';

const spans = [7, 30] as const;
type Span = (typeof spans)[number];

const parseSpan = (stored: unknown): Span => (stored === 30 ? 30 : 7);

/** Interval between reads. The server caches its answer for 30 seconds. */
const readMs = 60_000;

/** GPU-hours, energy and cost of the last 7 or 30 days. Renders nothing for users who may not see the usage. */
export function UsageCard() {
  const t = useFleetTexts();
  const may = useMay();
  const [span, setSpan] = useRemembered('usageDays', parseSpan);
  const input = useMemo(() => ({ query: { days: span } }), [span]);
  const { value, failure } = useLoaded(usageApi.days, input, String(useNow(readMs)));
  // Without a first answer, a failure probably means that an older server does not know the call.
  if (!may(usageApi.days) || (value === null && failure !== null)) return null;
  const days = value?.days ?? [];
  const shown = (['gpu_hours', 'energy_kwh', 'cost'] as const).filter(
    // Reserve room for every figure until the first answer, so that nothing moves when the answer arrives.
    name => value === null || name !== 'cost' || days.some(day => day.cost !== null),
  );
  const lacksPrice = value !== null && !shown.includes('cost') && days.some(day => day.energy_kwh !== null);
  return (
    <section className="card usage" aria-labelledby="usage" aria-busy={value === null}>
      <div className="page-head">
        <h2 id="usage">{t('usage.title')}</h2>
        <div className="chips" role="group" aria-label={t('usage.span')}>
          {spans.map(each => (
            <button
              key={each}
              type="button"
              className="chip chip-button"
              aria-pressed={each === span}
              onClick={() => setSpan(each)}
            >
              {t('usage.days', { count: each })}
            </button>
          ))}
        </div>
      </div>
      <div className="usage-figures">
        {shown.map(name => (
          <Figure key={name} name={name} days={days} currency={value?.currency ?? null} />
        ))}
      </div>
      {lacksPrice && may(settingsApi.change) && (
        <p className="muted usage-note">
          {t('usage.noPrice')} <Link href="/settings/workers#settings-electricity">{t('nav.settings')}</Link>
        </p>
      )}
    </section>
  );
}

interface FigureProps {
  readonly name: UsageFigure;
  readonly days: readonly UsageDay[];
  readonly currency: string | null;
}

function Figure({ name, days, currency }: FigureProps) {
  const t = useFleetTexts();
  const isKnown = days.some(day => day[name] !== null);
  const total = days.reduce((sum, day) => sum + (day[name] ?? 0), 0);
  return (
    <figure className="usage-figure">
      <figcaption>
        <span className="muted">{t(`usage.${name}`)}</span>
        <strong>{isKnown ? formatUsage(t, name, total, currency) : t('time.none')}</strong>
      </figcaption>
      <DayBars name={name} days={days} currency={currency} />
    </figure>
  );
}
