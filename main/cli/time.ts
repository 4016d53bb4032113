import { InvalidArgumentError } from 'commander';

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Parses a date, a time, or an age such as 2h; returns ISO 8601. Dates are UTC, as in the API. */
export function moment(text: string): string {
  const now = Date.now();
  if (text === 'today') return dateOf(now);
  if (text === 'yesterday') return dateOf(now - (unitMs['d'] ?? 0));
  const [, amount, unit = ''] = /^(\d{1,6}(?:\.\d{1,3})?)([smhdw])$/.exec(text) ?? [];
  if (amount !== undefined) {
    const at = new Date(now - Number(amount) * (unitMs[unit] ?? 0));
    if (at.getTime() > 0) return at.toISOString();
  }
  if (/^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/.test(text) && !Number.isNaN(Date.parse(text)))
    return text;
  throw new InvalidArgumentError(
    'Give a date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 30m, 2h, 3d or yesterday.',
  );
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Formats a time: on a terminal as age, after a day as local date and time; elsewhere as ISO 8601. */
export function timeText(at: string, isScreen: boolean): string {
  const ageMs = Date.now() - Date.parse(at);
  if (!isScreen || Number.isNaN(ageMs)) return at;
  if (ageMs < 0 || ageMs >= 86_400_000) return localText(new Date(at));
  if (ageMs < 60_000) return 'just now';
  return ageMs < 3_600_000
    ? `${Math.floor(ageMs / 60_000)} min ago`
    : `${Math.floor(ageMs / 3_600_000)} h ago`;
}

const localText = (at: Date): string => {
  const [year, month, day, hour, minute] = [
    at.getFullYear(),
    at.getMonth() + 1,
    at.getDate(),
    at.getHours(),
    at.getMinutes(),
  ].map(part => String(part).padStart(2, '0'));
  return `${year}-${month}-${day} ${hour}:${minute}`;
};
