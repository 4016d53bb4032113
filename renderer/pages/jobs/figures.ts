import { isWaiting, type JobView, priorities } from '../../../protocol/job.ts';
import { perLanguage, perLocale, type FormatLocale } from '../../i18n/formats.ts';
import type { Translator } from '../../i18n/index.ts';

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** The narrow Japanese units are Latin letters, which are unusual in sentences. */
const unitWidth = (language: string) => (language === 'ja' ? 'short' : 'narrow');

const unitFormats = perLanguage(language => {
  const of = (unit: string) =>
    new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: unitWidth(language) });
  return { day: of('day'), hour: of('hour'), minute: of('minute'), second: of('second') };
});
const unitList = perLanguage(
  language => new Intl.ListFormat(language, { type: 'unit', style: unitWidth(language) }),
);
const figureFormats = perLanguage(language => {
  const of = (notation: 'standard' | 'scientific') =>
    new Intl.NumberFormat(language, { maximumSignificantDigits: 3, notation });
  return { standard: of('standard'), scientific: of('scientific') };
});
const wholeFormat = perLanguage(language => new Intl.NumberFormat(language));
const percentFormat = perLanguage(language => new Intl.NumberFormat(language, { style: 'percent' }));
const clockFormat = perLocale({ timeStyle: 'short' });

/** Rounds an estimated duration in seconds to whole minutes, because estimates are no more exact. Returns at least 60. */
export const roundEstimate = (seconds: number): number => Math.max(60, 60 * Math.round(seconds / 60));

/** Formats a duration with its two largest units: "2d 3h", "4m 12s". */
export function duration(seconds: number, language: string): string {
  const whole = Math.max(0, Math.round(seconds));
  const firstFitting = units.findIndex(([, size]) => whole >= size);
  const largest = firstFitting === -1 ? units.length - 1 : firstFitting;
  const [unit, size] = units[largest] ?? (['second', 1] as const);
  const [nextUnit, nextSize] = units[largest + 1] ?? (['second', 1] as const);
  const formats = unitFormats(language);
  const parts = [formats[unit].format(Math.floor(whole / size))];
  const rest = Math.floor((whole % size) / nextSize);
  if (rest > 0) parts.push(formats[nextUnit].format(rest));
  return unitList(language).format(parts);
}

/** Returns the attempt's run time in seconds; null before its start. `now` in milliseconds since 1970. */
export function ranFor(job: Pick<JobView, 'started_at' | 'completed_at'>, now: number): number | null {
  if (job.started_at === null) return null;
  const end = job.completed_at === null ? now : Date.parse(job.completed_at);
  return Math.max(0, (end - Date.parse(job.started_at)) / 1000);
}

/** Returns the run time of a job in seconds; null while it is pending, even if an earlier attempt ran. */
export const runTime = (job: JobView, now: number): number | null =>
  isWaiting(job.status) ? null : ranFor(job, now);

/** Formats a loss or similar value with three digits. Very small and very large values use scientific notation. */
export function figure(value: number, language: string): string {
  const size = Math.abs(value);
  const notation = size !== 0 && (size < 0.001 || size >= 1e6) ? 'scientific' : 'standard';
  return figureFormats(language)[notation].format(value);
}

/** Formats the training speed. Slow speeds are per minute, because "0.02 a second" is hard to read. */
export function speed(stepsPerSecond: number, t: Translator): string {
  return stepsPerSecond >= 0.5 || stepsPerSecond === 0
    ? t('jobs.speed.second', { rate: figure(stepsPerSecond, t.language) })
    : t('jobs.speed.minute', { rate: figure(stepsPerSecond * 60, t.language) });
}

/** Formats the progress as "538 / 2,814" or "19 %", or names the trainer's current stage. */
export function progressText(progress: JobView['progress'], t: Translator): string {
  if (progress === null) return '';
  const { step, total_steps: total, percent, stage } = progress;
  const number = wholeFormat(t.language);
  if (step !== undefined && total !== undefined)
    return t('jobs.progress.of', { step: number.format(step), total: number.format(total) });
  if (step !== undefined) return t('jobs.progress.step', { step: number.format(step) });
  if (percent !== undefined) return percentFormat(t.language).format(percent / 100);
  return stage ?? '';
}

export const clock = (at: string, locale: FormatLocale): string => clockFormat(locale).format(Date.parse(at));

/** Returns the name of the priority. Adds the number if the priority lies between two named priorities. */
export function priorityText(priority: number, t: Translator): string {
  const exact = priorityNames.find(name => priorities[name] === priority);
  if (exact !== undefined) return t(`jobs.priority.${exact}`);
  const below = priorityNames.findLast(name => priorities[name] <= priority) ?? 'low';
  return t('jobs.priority.between', { name: t(`jobs.priority.${below}`), number: priority });
}

const priorityNames = ['low', 'normal', 'high', 'urgent', 'critical'] as const;

/** Returns the named priorities to choose from, and the job's current priority `now` even if it has no name. */
export const priorityChoices = (now: number): readonly number[] =>
  [...new Set([...Object.values(priorities), now])].toSorted((a, b) => b - a);

const sizeUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const sizeFormats = perLanguage(language =>
  sizeUnits.map(
    unit =>
      new Intl.NumberFormat(language, {
        style: 'unit',
        unit,
        unitDisplay: unit === 'byte' ? 'narrow' : 'short',
        maximumSignificantDigits: 3,
      }),
  ),
);

/** Formats a file size in the largest suitable unit: "1.42 MB". A kilobyte is 1,000 bytes. */
export function sizeText(bytes: number, language: string): string {
  // Round before choosing the unit: 999,600 bytes have three digits as 1.00 MB, not as 1,000 kB.
  const power = sizeUnits.findLastIndex((_, at) => Number(bytes.toPrecision(3)) >= 1_000 ** at);
  const unit = Math.max(0, power);
  return sizeFormats(language)[unit]?.format(bytes / 1_000 ** unit) ?? '';
}
