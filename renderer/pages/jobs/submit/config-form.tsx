import { useMemo, useState } from 'react';
import {
  type EditableText,
  formFieldsOf,
  type FormField,
  openConfigText,
  placeOf,
  trainerFor,
} from '../../../../trainers/index.ts';
import { Field } from '../field.tsx';
import type { Draft } from './draft.ts';
import { useSubmitT } from './texts.tsx';

interface ConfigFormProps {
  /** The last text that was a valid config. */
  readonly text: string;
  readonly format: Draft['format'];
  /** True if the current text is invalid, so that the form cannot change the text. */
  readonly isStale: boolean;
  readonly change: (part: Partial<Draft>) => void;
}

/** Fields for the settings that most users of the trainer change. Each field reads and changes its value in the text. */
export function ConfigForm({ text, format, isStale, change }: ConfigFormProps) {
  const t = useSubmitT();
  const form = useMemo(() => openForm(text, format), [text, format]);
  if (form === null || form.fields.length === 0) return null;
  const { trainer, open, fields } = form;
  return (
    <div className="config-form" role="group" aria-label={t('submit.form', { trainer: trainer.title })}>
      {fields.map(({ field, at }) => (
        <SettingField
          key={field.name}
          field={field}
          isStale={isStale}
          path={at.map(part => (typeof part === 'number' ? `[${part}]` : part)).join('.')}
          value={open.read(at)}
          write={typed => {
            const written = open.write(at, field.kind, typed);
            if (written !== null) change({ config: written });
            return written !== null;
          }}
        />
      ))}
    </div>
  );
}

function openForm(text: string, format: Draft['format']) {
  const open = openConfigText(text, format);
  if (open === null) return null;
  const trainer = trainerFor(open.value);
  const fields = formFieldsOf(trainer.name).flatMap(field => {
    const at = placeOf(field, trainer.name, open.value);
    return at === null || !isUsable(open, field, at) ? [] : [{ field, at }];
  });
  return { open, trainer, fields };
}

type Place = NonNullable<ReturnType<typeof placeOf>>;

/** Returns false for a field without a value if the text has no section where the key could be added. */
const isUsable = (open: EditableText, { kind }: FormField, at: Place): boolean =>
  open.read(at) !== '' || open.write(at, kind, '1') !== null;

interface SettingFieldProps {
  readonly field: FormField;
  /** The key in the config, such as `config.process.[0].train.lr`. */
  readonly path: string;
  readonly value: string;
  readonly isStale: boolean;
  /** Returns false if the field cannot change the value. */
  readonly write: (typed: string) => boolean;
}

const isNumber = (typed: string): boolean => typed.trim() !== '' && Number.isFinite(Number(typed));

const wide: ReadonlySet<string> = new Set(['model', 'prompt']);

function SettingField({ field, path, value, isStale, write }: SettingFieldProps) {
  const { name, kind, suggestions = [] } = field;
  const t = useSubmitT();
  /** The text while the field has the focus. An empty field removes its key only when the user leaves the field. */
  const [typed, setTyped] = useState<string | null>(null);
  const [error, setError] = useState<string | undefined>();
  // The value was changed outside this field, so an invalid entry in the field is outdated.
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    if (error !== undefined) {
      setError(undefined);
      setTyped(null);
    }
  }
  const isNumeric = kind === 'integer' || kind === 'number';
  const put = (text: string): void => {
    if (isNumeric && text.trim() !== '' && !isNumber(text)) return setError(t('jobs.submit.notNumber'));
    setError(write(text) ? undefined : t('submit.onlyInText'));
  };
  return (
    <Field label={t(`submit.field.${name}`)} error={error} hint={<code>{path}</code>} isWide={wide.has(name)}>
      {tied => (
        <>
          <input
            {...tied}
            value={typed ?? value}
            disabled={isStale}
            inputMode={isNumeric ? 'decimal' : 'text'}
            autoComplete="off"
            spellCheck={false}
            list={suggestions.length > 0 ? `${tied.id}-values` : undefined}
            onFocus={() => setTyped(value)}
            onChange={({ target }) => {
              setTyped(target.value);
              if (target.value.trim() !== '') put(target.value);
            }}
            onBlur={() => {
              if (typed?.trim() === '' && value !== '') put('');
              // An invalid number stays visible with its error.
              if (error === undefined) setTyped(null);
            }}
          />
          {suggestions.length > 0 && (
            <datalist id={`${tied.id}-values`} translate="no">
              {suggestions.map(each => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}
