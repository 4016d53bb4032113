import { useT } from '../../i18n/index.ts';
import { absolute, useNow } from '../../ui/time.tsx';
import { clock, duration } from './figures.ts';

/** The estimated start of a pending job: the remaining time in two units, and the time of day. */
export function StartTime({ at }: { readonly at: string }) {
  const t = useT();
  const moment = Date.parse(at);
  const left = (moment - useNow()) / 1_000;
  return (
    <time className="time" dateTime={at} title={absolute(moment, t)}>
      {t('jobs.explain.startIn', { time: duration(left, t.language), clock: clock(at, t) })}
    </time>
  );
}
