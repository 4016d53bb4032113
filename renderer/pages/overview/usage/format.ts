import { type FormatLocale, perLanguage } from '../../../i18n/formats.ts';
import type { Translator, Values } from '../../../i18n/index.ts';
import type { UsageDay } from '../../../../protocol/usage-api.ts';

export type UsageFigure = Exclude<keyof UsageDay, 'day'>;

const amounts = perLanguage(language => new Intl.NumberFormat(language, { maximumSignificantDigits: 3 }));
/** Costs have two decimals, because they are amounts of money. */
const costs = perLanguage(
  language => new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
);
/** Large amounts keep all digits before the decimal point. */
const wholes = perLanguage(language => new Intl.NumberFormat(language, { maximumFractionDigits: 0 }));

/** Formats GPU-hours or energy without the unit. All pages use this function, so that they round alike. */
export const formatAmount = (value: number, language: string): string =>
  (value >= 1_000 ? wholes : amounts)(language).format(value);

/** Formats a figure with its unit, such as "12.4 kWh". */
export function formatUsage(
  t: Pick<Translator, 'language'> &
    ((key: `usage.unit.${'gpu_hours' | 'energy_kwh'}`, values: Values) => string),
  name: UsageFigure,
  value: number,
  currency: string | null,
): string {
  if (name === 'cost') return [costs(t.language).format(value), currency ?? ''].join(' ').trim();
  return t(`usage.unit.${name}`, { value: formatAmount(value, t.language) });
}

const dates = perLanguage(
  language => new Intl.DateTimeFormat(language, { month: 'short', day: 'numeric', timeZone: 'UTC' }),
);

/** Formats a day such as "2026-11-26" without its year. */
export const formatDay = ({ language }: FormatLocale, day: string): string =>
  dates(language).format(new Date(`${day}T00:00:00Z`));
