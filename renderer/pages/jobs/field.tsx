import { type ReactElement, type ReactNode, useId } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The error of the current value. */
  readonly error?: string | undefined;
  /** True if the field takes two columns of a grid. */
  readonly isWide?: boolean;
  /** Renders the control with the attributes that connect it to its label, hint and error. */
  readonly children: (tied: ControlAttributes) => ReactElement;
}

interface ControlAttributes {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

/** A control with its label, hint and error. */
export function Field({ label, hint, error, isWide = false, children }: FieldProps) {
  const id = useId();
  const about = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`];
  return (
    <div className="field" data-wide={isWide || undefined}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': error !== undefined,
        'aria-describedby': about.join(' ').trim() || undefined,
      })}
      {hint !== undefined && (
        <span id={`${id}-hint`} className="muted hint">
          {hint}
        </span>
      )}
      {error !== undefined && (
        <span id={`${id}-error`} className="trouble" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isNumber?: boolean;
}

export const TextField = ({ label, hint, error, value, onChange, isNumber = false }: TextFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {tied => (
      <input
        {...tied}
        value={value}
        inputMode={isNumber ? 'decimal' : 'text'}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => onChange(target.value)}
      />
    )}
  </Field>
);

interface ChoiceProps<V extends string> {
  readonly label: string;
  readonly error?: string | undefined;
  readonly value: V;
  readonly choices: readonly (readonly [value: V, text: string])[];
  readonly onChange: (value: V) => void;
}

export const Choice = <V extends string>({ label, error, value, choices, onChange }: ChoiceProps<V>) => (
  <Field label={label} error={error}>
    {tied => (
      <select
        {...tied}
        value={value}
        onChange={({ target }) => {
          const [chosen] = choices.find(([choice]) => choice === target.value) ?? [];
          if (chosen !== undefined) onChange(chosen);
        }}
      >
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface TickProps {
  readonly label: ReactNode;
  readonly error?: string | undefined;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
}

export function Tick({ label, error, isOn, isDisabled = false, onChange }: TickProps) {
  const id = useId();
  return (
    <div className="field">
      <span className="tick">
        <input
          id={id}
          type="checkbox"
          checked={isOn}
          disabled={isDisabled}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : `${id}-error`}
          onChange={({ target }) => onChange(target.checked)}
        />
        <label htmlFor={id}>{label}</label>
      </span>
      {error !== undefined && (
        <span id={`${id}-error`} className="trouble" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
