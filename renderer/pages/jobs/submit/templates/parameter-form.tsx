import { isSecretParameter } from '../../../../../protocol/template-values.ts';
import { Button } from '../../../../ui/button.tsx';
import { Icon } from '../../../../ui/icon.tsx';
import { Choice, Field, TextField } from '../../field.tsx';
import { errorsOf, type ParameterDraft } from './parameter-draft.ts';
import { useTemplateT } from './texts.tsx';
import { nameOf } from './values.ts';

interface ParameterFormProps {
  readonly draft: ParameterDraft;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly change: (part: Partial<ParameterDraft>) => void;
  readonly move: (by: 1 | -1) => void;
  readonly remove: () => void;
}

/** Edits one parameter of a template. */
export function ParameterForm({ draft, isFirst, isLast, change, move, remove }: ParameterFormProps) {
  const t = useTemplateT();
  const { key, document: part, file, type } = draft;
  const wrong = errorsOf(draft);
  const isSecret = isSecretParameter(draft);
  const types = (['text', 'integer', 'number', 'boolean'] as const).filter(
    each => each !== 'boolean' || part === 'config' || part === 'dataloader',
  );
  return (
    <fieldset className="parameter">
      <legend>
        {part === 'job' ? nameOf({ key, document: part, label: null }, t) : <code>{key}</code>}
        {file !== null && <span className="muted"> {file}</span>}
      </legend>
      <div className="parameter-acts">
        <Button
          kind="quiet"
          aria-label={t('templates.up', { key })}
          disabled={isFirst}
          onClick={() => move(-1)}
        >
          <Icon name="up" />
        </Button>
        <Button
          kind="quiet"
          aria-label={t('templates.down', { key })}
          disabled={isLast}
          onClick={() => move(1)}
        >
          <Icon name="down" />
        </Button>
        <Button kind="quiet" aria-label={t('templates.remove', { key })} onClick={remove}>
          ×
        </Button>
      </div>
      <div className="parameter-fields">
        <TextField label={t('templates.label')} value={draft.label} onChange={label => change({ label })} />
        {part !== 'job' && (
          <Choice
            label={t('templates.type')}
            value={type}
            choices={types.map(each => [each, t(`templates.type.${each}`)] as const)}
            onChange={chosen => change({ type: chosen })}
          />
        )}
        {isSecret ? (
          <p className="muted">{t('templates.secretHint')}</p>
        ) : (
          <TextField
            label={t('templates.defaultValue')}
            hint={t('templates.defaultHint')}
            error={wrong.default && t(wrong.default, { min: draft.min, max: draft.max })}
            isNumber={type === 'integer' || type === 'number'}
            value={draft.default}
            onChange={value => change({ default: value })}
          />
        )}
      </div>
      <Limits draft={draft} change={change} />
    </fieldset>
  );
}

function Limits({ draft, change }: Pick<ParameterFormProps, 'draft' | 'change'>) {
  const t = useTemplateT();
  const wrong = errorsOf(draft);
  const isNumeric = draft.type === 'integer' || draft.type === 'number';
  return (
    <details
      className="parameter-more"
      open={wrong.choices !== undefined || wrong.max !== undefined || undefined}
    >
      <summary>{t('templates.more')}</summary>
      <div className="parameter-fields">
        <TextField label={t('templates.help')} value={draft.help} onChange={help => change({ help })} />
        {isNumeric && (
          <>
            <TextField
              isNumber
              label={t('templates.min')}
              error={wrong.min && t(wrong.min)}
              value={draft.min}
              onChange={min => change({ min })}
            />
            <TextField
              isNumber
              label={t('templates.max')}
              error={wrong.max && t(wrong.max)}
              value={draft.max}
              onChange={max => change({ max })}
            />
          </>
        )}
        {draft.type !== 'boolean' && (
          <Field
            label={t('templates.choices')}
            hint={t('templates.choicesHint')}
            error={wrong.choices && t(wrong.choices)}
          >
            {tied => (
              <textarea
                {...tied}
                rows={3}
                spellCheck={false}
                value={draft.choices}
                onChange={({ target }) => change({ choices: target.value })}
              />
            )}
          </Field>
        )}
      </div>
    </details>
  );
}
