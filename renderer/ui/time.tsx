import { useEffect, useState } from 'react';
import { type FormatLocale, perLanguage, perLocale } from '../i18n/formats.ts';
import { useT } from '../i18n/index.ts';

const spans = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

const relativeFormat = perLanguage(
  language => new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }),
);
const absoluteFormat = perLocale({ dateStyle: 'medium', timeStyle: 'long' });

/** Formats the distance of a time from now: "5 minutes ago". Both arguments are in milliseconds since 1970. */
export function relative(at: number, now: number, language: string): string {
  const seconds = Math.round((at - now) / 1000);
  const [unit, size] = spans.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return relativeFormat(language).format(Math.trunc(seconds / size), unit);
}

/** Formats a time in milliseconds since 1970, with its date and time zone. */
export const absolute = (at: number, locale: FormatLocale): string => absoluteFormat(locale).format(at);

/** Returns the current time in milliseconds since 1970, updated at this interval. */
export function useNow(everyMs = 5_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

interface TimeProps {
  /** A time in RFC 3339; null is shown as "never". */
  readonly at: string | null;
  readonly style?: 'relative' | 'absolute';
  /** Lead of the server's clock over this computer's, in milliseconds, for times that the server measured. */
  readonly leadMs?: number;
  /** True for times that are never in the future. A clock error then cannot show them as future times. */
  readonly isPast?: boolean;
  /** A note below the exact time on hover. */
  readonly note?: string;
}

/** A time relative to now. Hovering shows the exact time, and screen readers read it. */
export function Time({ at, style = 'relative', leadMs = 0, isPast = false, note }: TimeProps) {
  const t = useT();
  const now = useNow() + leadMs;
  if (at === null) return <span>{t('time.never')}</span>;
  const moment = Date.parse(at);
  const exact = absolute(moment, t);
  return (
    <time className="time" dateTime={at} title={note === undefined ? exact : `${exact}\n${note}`}>
      {style === 'absolute' ? (
        exact
      ) : (
        <>
          {relative(isPast ? Math.min(moment, now) : moment, now, t.language)}{' '}
          <span className="unseen">({exact})</span>
        </>
      )}
    </time>
  );
}
