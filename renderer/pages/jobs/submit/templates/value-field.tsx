import { useId } from 'react';
import type { TemplateParameter } from '../../../../../protocol/template.ts';
import { isSecretParameter } from '../../../../../protocol/template-values.ts';
import { Button } from '../../../../ui/button.tsx';
import { Field } from '../../field.tsx';
import { SeveralField } from './several-field.tsx';
import { type TemplateTranslator, useTemplateT } from './texts.tsx';
import { limitsText, nameOf } from './values.ts';

interface ValueFieldProps {
  readonly parameter: TemplateParameter;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
  /** The values to try, one per line; null for a single value. */
  readonly tried: string | null;
  /** True if the sweep may vary one more value. */
  readonly mayTry: boolean;
  readonly onTry: (lines: string | null) => void;
}

/** The field for a parameter of the template, with one value or with several values to try. */
export function ValueField({ tried, mayTry, onTry, ...field }: ValueFieldProps) {
  const t = useTemplateT();
  const { parameter, value } = field;
  const id = useId();
  const name = nameOf(parameter, t);
  if (isSecretParameter(parameter)) return <SingleField {...field} />;
  return (
    <div className="sweepable">
      {tried === null ? (
        <SingleField {...field} />
      ) : (
        <SeveralField
          label={name}
          choices={choicesOf(parameter, t)}
          lines={tried}
          error={field.error}
          hint={<Hint parameter={parameter} />}
          onChange={onTry}
        />
      )}
      <span id={id} hidden>
        {name}
      </span>
      <Button
        kind="quiet"
        disabled={tried === null && !mayTry}
        aria-describedby={id}
        onClick={() => onTry(tried === null ? value : null)}
      >
        {t(tried === null ? 'templates.sweep.start' : 'templates.sweep.stop')}
      </Button>
    </div>
  );
}

function SingleField({
  parameter,
  value,
  error,
  onChange,
}: Omit<ValueFieldProps, 'tried' | 'mayTry' | 'onTry'>) {
  const t = useTemplateT();
  const { key, type } = parameter;
  const choices = choicesOf(parameter, t);
  const isNumeric = type === 'integer' || type === 'number';
  return (
    <Field label={nameOf(parameter, t)} error={error} hint={<Hint parameter={parameter} />}>
      {tied =>
        choices.length > 0 ? (
          <select {...tied} value={value} onChange={({ target }) => onChange(target.value)}>
            {(parameter.default === null || value === '') && (
              <option value="">{t('templates.choose')}</option>
            )}
            {choices.map(([choice, text]) => (
              <option key={choice} value={choice}>
                {text}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...tied}
            name={key}
            type={isSecretParameter(parameter) ? 'password' : 'text'}
            value={value}
            inputMode={isNumeric ? 'decimal' : 'text'}
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => onChange(target.value)}
          />
        )
      }
    </Field>
  );
}

function choicesOf(
  { type, choices }: TemplateParameter,
  t: TemplateTranslator,
): readonly (readonly [value: string, text: string])[] {
  const wordFor = (choice: string): string =>
    type === 'boolean' ? t(/^true$/i.test(choice) ? 'templates.yes' : 'templates.no') : choice;
  const values = choices.length === 0 && type === 'boolean' ? [true, false] : choices;
  return values.map(choice => [String(choice), wordFor(String(choice))] as const);
}

/** Shows the key in the config, the help text of the template's author, the limits and the default. */
function Hint({ parameter }: { readonly parameter: TemplateParameter }) {
  const t = useTemplateT();
  const { label, key, help, default: value } = parameter;
  const words = [
    help,
    limitsText(parameter, t),
    value === null || parameter.type === 'boolean' ? null : t('templates.default', { value: String(value) }),
  ].filter(part => part !== null);
  return (
    <>
      {label !== null && <code>{key}</code>}
      {label !== null && words.length > 0 && ' · '}
      {words.join(' · ')}
    </>
  );
}
