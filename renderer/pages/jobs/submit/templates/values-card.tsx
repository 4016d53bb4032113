import type { Dispatch, SetStateAction } from 'react';
import { maxSweepKeys } from '../../../../../protocol/sweep-limits.ts';
import type { TemplateDetail } from '../../../../../protocol/template.ts';
import { TextField } from '../../field.tsx';
import { ConfigDiff } from '../config-parts.tsx';
import { useSubmitT } from '../texts.tsx';
import { OtherAxes } from './other-axes.tsx';
import { noSweep, type SweepDraft, type Typed } from './sweep-values.ts';
import { TemplateActions } from './template-actions.tsx';
import { useTemplateT } from './texts.tsx';
import { ValueField } from './value-field.tsx';
import { type CheckedValues, textOf } from './values.ts';

/** All input of the user in the form. */
interface TemplateFormState {
  readonly typed: Typed;
  readonly sweep: SweepDraft;
  readonly jobName: string;
}

export const emptyForm: TemplateFormState = { typed: {}, sweep: noSweep, jobName: '' };

interface CardProps {
  readonly template: TemplateDetail;
  readonly form: TemplateFormState;
  readonly setForm: Dispatch<SetStateAction<TemplateFormState>>;
  readonly checked: CheckedValues;
  readonly errorOf: (key: string) => string | undefined;
  readonly onEdit: () => void;
}

/** The fields for the parameters of a template, and the differences between the filled form and the template. */
export function ValuesCard({ template, form, setForm, checked, errorOf, onEdit }: CardProps) {
  const t = useTemplateT();
  const submitT = useSubmitT();
  const { typed, sweep, jobName } = form;
  const isFull = Object.keys(sweep.asked).length + sweep.others.length >= maxSweepKeys;
  const type = (key: string, value: string): void =>
    setForm(was => ({ ...was, typed: { ...was.typed, [key]: value } }));
  const tryValues = (key: string, lines: string | null): void =>
    setForm(was => {
      const { [key]: _old, ...asked } = was.sweep.asked;
      const next = lines === null ? asked : { ...asked, [key]: lines };
      return { ...was, sweep: { ...was.sweep, asked: next } };
    });
  return (
    <fieldset className="card">
      <legend>{t('templates.values')}</legend>
      <div className="card-body">
        {template.description !== null && <p className="template-about">{template.description}</p>}
        {template.parameters.length === 0 && <p className="muted">{t('templates.noValues')}</p>}
        <div className="template-values">
          {template.parameters.map(parameter => (
            <ValueField
              key={parameter.key}
              parameter={parameter}
              value={textOf(parameter, typed)}
              error={errorOf(parameter.key)}
              onChange={value => type(parameter.key, value)}
              tried={sweep.asked[parameter.key] ?? null}
              mayTry={!isFull}
              onTry={lines => tryValues(parameter.key, lines)}
            />
          ))}
          <TextField
            label={submitT('submit.about.name')}
            value={jobName}
            onChange={name => setForm(was => ({ ...was, jobName: name }))}
          />
        </div>
        <OtherAxes
          template={template}
          others={sweep.others}
          errorOf={errorOf}
          isFull={isFull}
          onChange={others => setForm(was => ({ ...was, sweep: { ...was.sweep, others } }))}
        />
        {checked.ok && (
          <ConfigDiff
            before={partsOf(template.submission)}
            after={partsOf(checked.submission)}
            label={t('templates.changes')}
            names={[t('templates.original'), t('jobs.diff.run')]}
          />
        )}
        <TemplateActions
          template={template}
          onEdit={onEdit}
          filled={checked.ok ? checked.submission : template.submission}
        />
      </div>
    </fieldset>
  );
}

/** Returns the parts of a submission whose values can differ: config, dataloader and files. */
const partsOf = ({ config, dataloader, files }: TemplateDetail['submission']) => ({
  ...config,
  ...(dataloader !== undefined && { dataloader }),
  ...(files !== undefined && { files }),
});
