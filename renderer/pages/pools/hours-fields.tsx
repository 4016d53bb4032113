import { useId } from 'react';
import { Choice, Field, TextField } from '../jobs/field.tsx';
import type { FieldErrors, HoursDraft } from './draft.ts';
import { allDays, dayName, type Weekday } from './pool-facts.ts';
import { usePoolT } from './texts.tsx';

interface HoursFieldsProps {
  readonly hours: HoursDraft;
  readonly errors: FieldErrors;
  readonly onChange: (hours: HoursDraft) => void;
}

/** Fields for the hours in which the pool orders machines: always, or certain hours on certain days. */
export function HoursFields({ hours, errors, onChange }: HoursFieldsProps) {
  const t = usePoolT();
  const change = (part: Partial<HoursDraft>): void => onChange({ ...hours, ...part });
  const errorOf = (name: string): string | undefined => {
    const wrong = errors[name];
    return wrong === undefined ? undefined : t(`pools.error.${wrong.name}`, wrong.values);
  };
  return (
    <>
      <Choice
        label={t('pools.field.hours')}
        value={hours.isLimited ? 'some' : 'always'}
        choices={[
          ['always', t('pools.hours.always')],
          ['some', t('pools.hours.some')],
        ]}
        onChange={choice => change({ isLimited: choice === 'some' })}
      />
      {hours.isLimited && (
        <>
          <div className="pool-hours">
            <TimeField
              label={t('pools.hours.from')}
              error={errorOf('from')}
              value={hours.from}
              onChange={from => change({ from })}
            />
            <TimeField
              label={t('pools.hours.to')}
              error={errorOf('to')}
              value={hours.to}
              onChange={to => change({ to })}
            />
            <TextField
              label={t('pools.hours.zone')}
              error={errorOf('zone')}
              value={hours.zone}
              onChange={zone => change({ zone })}
            />
          </div>
          <Days days={hours.days} error={errorOf('days')} onChange={days => change({ days })} />
        </>
      )}
    </>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly error: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const TimeField = ({ label, error, value, onChange }: TimeFieldProps) => (
  <Field label={label} error={error}>
    {tied => <input {...tied} type="time" value={value} onChange={({ target }) => onChange(target.value)} />}
  </Field>
);

interface DaysProps {
  readonly days: readonly Weekday[];
  readonly error: string | undefined;
  readonly onChange: (days: readonly Weekday[]) => void;
}

function Days({ days, error, onChange }: DaysProps) {
  const t = usePoolT();
  const title = useId();
  const toggle = (day: Weekday): void =>
    onChange(days.includes(day) ? days.filter(each => each !== day) : [...days, day]);
  return (
    <div className="field" role="group" aria-labelledby={title}>
      <span id={title}>{t('pools.hours.days')}</span>
      <div className="chips">
        {allDays.map(day => (
          <button
            key={day}
            type="button"
            className="chip chip-button"
            aria-pressed={days.includes(day)}
            onClick={() => toggle(day)}
          >
            {dayName(day, t.language)}
          </button>
        ))}
      </div>
      {error !== undefined && (
        <span className="trouble" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
