import { useId } from 'react';
import type { TemplateDetail } from '../../../../../protocol/template.ts';
import { isSecretParameter } from '../../../../../protocol/template-values.ts';
import { Button } from '../../../../ui/button.tsx';
import { Field } from '../../field.tsx';
import { candidatesOf } from './parameter-draft.ts';
import { SeveralField } from './several-field.tsx';
import type { OtherAxis } from './sweep-values.ts';
import { useTemplateT } from './texts.tsx';

interface OtherAxesProps {
  readonly template: TemplateDetail;
  readonly others: readonly OtherAxis[];
  readonly errorOf: (key: string) => string | undefined;
  /** Whether the sweep already has the maximum number of axes. */
  readonly isFull: boolean;
  readonly onChange: (others: readonly OtherAxis[]) => void;
}

/** Edits sweep axes that are not parameters of the template. Each axis has a config key and the values to try. */
export function OtherAxes({ template, others, errorOf, isFull, onChange }: OtherAxesProps) {
  const t = useTemplateT();
  const list = useId();
  const replace = (axis: OtherAxis): void =>
    onChange(others.map(each => (each.id === axis.id ? axis : each)));
  const add = (): void =>
    onChange([...others, { id: Math.max(0, ...others.map(({ id }) => id)) + 1, key: '', lines: '' }]);
  const keys =
    others.length === 0
      ? []
      : candidatesOf(template.submission).filter(
          each =>
            each.document === 'config' &&
            !isSecretParameter(each) &&
            !template.parameters.some(({ key }) => key === each.key),
        );
  return (
    <>
      {others.map(axis => (
        <div key={axis.id} className="sweep-other">
          <Field label={t('templates.sweep.key')} error={errorOf(`key ${axis.id}`)}>
            {tied => (
              <input
                {...tied}
                list={list}
                value={axis.key}
                autoComplete="off"
                spellCheck={false}
                onChange={({ target }) => replace({ ...axis, key: target.value })}
              />
            )}
          </Field>
          <SeveralField
            label={t('templates.sweep.values')}
            choices={[]}
            lines={axis.lines}
            error={errorOf(`other ${axis.id}`)}
            onChange={lines => replace({ ...axis, lines })}
          />
          <Button
            kind="quiet"
            aria-label={t('templates.sweep.stopFor', { name: axis.key || t('templates.sweep.other') })}
            onClick={() => onChange(others.filter(({ id }) => id !== axis.id))}
          >
            ×
          </Button>
        </div>
      ))}
      <datalist id={list}>
        {keys.map(({ key, value }) => (
          <option key={key} value={key}>
            {value}
          </option>
        ))}
      </datalist>
      <div>
        <Button disabled={isFull} onClick={add}>
          {t('templates.sweep.add')}
        </Button>
      </div>
    </>
  );
}
