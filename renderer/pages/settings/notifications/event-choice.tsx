import type { NotificationEvent } from '../../../../protocol/notification.ts';
import { useNotifyT } from './texts.tsx';

interface EventChoiceProps {
  /** The events to choose from, in their order. */
  readonly offered: readonly NotificationEvent[];
  readonly chosen: readonly NotificationEvent[];
  readonly onChange: (chosen: readonly NotificationEvent[]) => void;
}

/** One checkbox for each event. */
export function EventChoice({ offered, chosen, onChange }: EventChoiceProps) {
  const t = useNotifyT();
  return (
    <fieldset className="notify-events">
      <legend>{t('notify.rule.events')}</legend>
      {offered.map(event => (
        <label key={event} className="inline-label">
          <input
            type="checkbox"
            checked={chosen.includes(event)}
            onChange={({ target }) =>
              onChange(offered.filter(each => (each === event ? target.checked : chosen.includes(each))))
            }
          />
          {t(`notify.event.${event}`)}
        </label>
      ))}
    </fieldset>
  );
}
