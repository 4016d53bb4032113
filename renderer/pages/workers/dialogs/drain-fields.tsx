import type { BodyOf } from '../../../../protocol/call.ts';
import type { workersApi } from '../../../../protocol/admin-api.ts';
import { type Translator, useT } from '../../../i18n/index.ts';

/** The reason and the deadline in minutes; 0 means no deadline. */
interface DrainWish {
  readonly reason: string;
  readonly minutes: number;
}

export const noDrainWish: DrainWish = { reason: '', minutes: 0 };

/** Deadlines to choose from, in minutes. */
const deadlines = [0, 5, 30, 60, 240, 1440] as const;

interface DrainFieldsProps {
  readonly wish: DrainWish;
  readonly onChange: (wish: DrainWish) => void;
}

/** The fields for draining one or several workers. */
export function DrainFields({ wish, onChange }: DrainFieldsProps) {
  const t = useT();
  return (
    <>
      <label>
        {t('workers.drain.reason')}
        <input
          value={wish.reason}
          maxLength={500}
          onChange={({ target }) => onChange({ ...wish, reason: target.value })}
        />
      </label>
      <label>
        {t('workers.drain.deadlineField')}
        <select
          value={wish.minutes}
          onChange={({ target }) => onChange({ ...wish, minutes: Number(target.value) })}
        >
          {deadlines.map(each => (
            <option key={each} value={each}>
              {deadlineText(t, each)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

export function drainBody({ reason, minutes }: DrainWish): BodyOf<typeof workersApi.drain> {
  const trimmed = reason.trim();
  return {
    ...(trimmed === '' ? {} : { reason: trimmed }),
    ...(minutes === 0 ? {} : { deadline_s: minutes * 60 }),
  };
}

function deadlineText(t: Translator, minutes: number): string {
  if (minutes === 0) return t('workers.drain.deadline.none');
  return minutes < 60
    ? t('workers.drain.deadline.minutes', { count: minutes })
    : t('workers.drain.deadline.hours', { count: minutes / 60 });
}
