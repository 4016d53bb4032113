import { type ReactNode, useId } from 'react';
import { Field, Tick } from '../../field.tsx';
import { useTemplateT } from './texts.tsx';

interface SeveralProps {
  readonly label: string;
  /** The allowed values; empty to allow any. */
  readonly choices: readonly (readonly [value: string, text: string])[];
  /** One value per line. */
  readonly lines: string;
  readonly error: string | undefined;
  readonly hint?: ReactNode;
  readonly onChange: (lines: string) => void;
}

/** The field for several values to try: checkboxes for the allowed values, or a text with one value per line. */
export function SeveralField({ label, choices, lines, error, hint, onChange }: SeveralProps) {
  const t = useTemplateT();
  if (choices.length > 0)
    return <Checkboxes label={label} choices={choices} lines={lines} error={error} onChange={onChange} />;
  return (
    <Field
      label={label}
      error={error}
      hint={
        <>
          {t('templates.sweep.lines')}
          {hint !== undefined && <> {hint}</>}
        </>
      }
    >
      {tied => (
        <textarea
          {...tied}
          rows={3}
          spellCheck={false}
          value={lines}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

function Checkboxes({ label, choices, lines, error, onChange }: Omit<SeveralProps, 'hint'>) {
  const id = useId();
  const marked = lines.split('\n').filter(line => line !== '');
  const mark = (value: string, isOn: boolean): void =>
    onChange(
      choices
        .map(([each]) => each)
        .filter(each => (each === value ? isOn : marked.includes(each)))
        .join('\n'),
    );
  return (
    <div
      className="field"
      role="group"
      aria-labelledby={id}
      aria-describedby={error === undefined ? undefined : `${id}-error`}
    >
      <span id={id}>{label}</span>
      <div className="sweep-marks">
        {choices.map(([value, text]) => (
          <Tick key={value} label={text} isOn={marked.includes(value)} onChange={isOn => mark(value, isOn)} />
        ))}
      </div>
      {error !== undefined && (
        <span id={`${id}-error`} className="trouble" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
