import { createPageTexts } from '../../app/page-texts.tsx';
import { type TimelineKey, timeline } from '../../i18n/en/timeline.ts';
import { perLocale } from '../../i18n/formats.ts';
import type { PageTranslator } from '../../i18n/page-texts.ts';
import type { BarState } from './bars.ts';
import type { PlacedBar } from './layout.ts';
import type { Tick } from './scale.ts';

export type TimelineTranslator = PageTranslator<TimelineKey>;

export const { Texts: TimelineTexts, useTexts: useTimelineT } = createPageTexts<TimelineKey>(timeline, {
  es: async () => (await import('../../i18n/es/timeline.ts')).timeline,
  zh: async () => (await import('../../i18n/zh/timeline.ts')).timeline,
  hi: async () => (await import('../../i18n/hi/timeline.ts')).timeline,
  ja: async () => (await import('../../i18n/ja/timeline.ts')).timeline,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(timeline),
});

const momentFormat = perLocale({ dateStyle: 'medium', timeStyle: 'short' });
const timeFormat = perLocale({ timeStyle: 'short' });
const dayFormat = perLocale({ day: 'numeric', month: 'short' });

/** Returns the text of a tick: a date at the start of a day, otherwise a time. */
export const tickTextOf = (t: TimelineTranslator, { at, kind }: Tick): string =>
  (kind === 'day' ? dayFormat : timeFormat)(t).format(at);

export function stateText(t: TimelineTranslator, state: BarState): string {
  if (state === 'predicted') return t('timeline.state.predicted');
  if (state === 'requeued' || state === 'given_up' || state === 'withdrawn')
    return t(`jobs.outcome.${state}`);
  return t(`state.${state}`);
}

/** Describes a bar in one sentence. */
export function barText(t: TimelineTranslator, { bar, end }: PlacedBar, worker: string, now: number): string {
  const moment = (at: number): string => momentFormat(t).format(at);
  const values = {
    job: bar.name,
    worker,
    attempt: bar.attempt ?? 0,
    state: stateText(t, bar.state),
    from: moment(bar.from),
    to: moment(end),
  };
  if (bar.state === 'predicted')
    return t(bar.to === null ? 'timeline.bar.predicted' : 'timeline.bar.predictedEnd', values);
  if (bar.to !== null) return t('timeline.bar', values);
  return t(end > now ? 'timeline.bar.expected' : 'timeline.bar.live', values);
}
