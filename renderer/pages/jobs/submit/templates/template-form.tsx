import { type SubmitEvent, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import type { TemplateDetail } from '../../../../../protocol/template.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { detailOf } from '../../../../api/session.ts';
import { usePanel } from '../../../../app/context.ts';
import { Allowed } from '../../../../app/guarded.tsx';
import { Button } from '../../../../ui/button.tsx';
import { Confirm } from '../../../../ui/dialog.tsx';
import { showFailure, showToast } from '../../../../ui/toast.tsx';
import { TextField } from '../../field.tsx';
import { ConfigDiff } from '../config-parts.tsx';
import { LiveAnswer } from '../live-answer.tsx';
import { Send } from '../send.tsx';
import { keepDraft } from '../stored-draft.ts';
import { SubmitAnswer } from '../submit-answer.tsx';
import { useSubmitT } from '../texts.tsx';
import { useLiveAnswer } from '../use-live-answer.ts';
import { TemplateEditor } from './template-editor.tsx';
import { TemplatePicker } from './template-picker.tsx';
import { useTemplateT } from './texts.tsx';
import { useTemplateSubmit } from './use-template-submit.ts';
import { addressOf, useTemplate } from './use-templates.ts';
import { ValueField } from './value-field.tsx';
import { checkValues, draftFrom, summaryOf, textOf, type Typed } from './values.ts';

/** The page that asks for the values of a template. */
export function TemplatePage({ name }: { readonly name: string }) {
  const t = useTemplateT();
  const [, go] = useLocation();
  const { template, failure } = useTemplate(name);
  const [edited, setEdited] = useState<TemplateDetail | null>(null);
  if (edited !== null)
    return (
      <>
        <h1>{t('templates.editTitle', { name })}</h1>
        <TemplateEditor
          submission={edited.submission}
          template={edited}
          onClose={() => setEdited(null)}
          onSaved={saved => {
            setEdited(null);
            go(addressOf(saved));
          }}
        />
      </>
    );
  const isGone = failure?.kind === 'problem' && failure.problem.code === 'template_not_found';
  return (
    <>
      <h1>{t('templates.title', { name })}</h1>
      <TemplatePicker current={name} />
      {failure !== null && (
        <p className="trouble" role="alert">
          {isGone ? t('templates.gone', { name }) : (detailOf(failure) ?? t('error.unreachable'))}
        </p>
      )}
      {template === null && failure === null && <div aria-busy="true" />}
      {template !== null && !isGone && (
        <TemplateForm key={name} template={template} onEdit={() => setEdited(template)} />
      )}
    </>
  );
}

interface FormProps {
  readonly template: TemplateDetail;
  readonly onEdit: () => void;
}

function TemplateForm({ template, onEdit }: FormProps) {
  const t = useTemplateT();
  const submitT = useSubmitT();
  const [typed, setTyped] = useState<Typed>({});
  const [jobName, setJobName] = useState('');
  /** A missing value is an error only once the user has tried to submit. */
  const [isTried, setTried] = useState(false);
  const checked = useMemo(() => checkValues(template, typed, t), [template, typed, t]);
  const { send, isSending, trouble, answer, again } = useTemplateSubmit(template.name);
  const live = useLiveAnswer(checked.ok && answer === null ? checked.submission : null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setTried(true);
    const own = jobName.trim() === '' ? {} : { name: jobName.trim() };
    if (checked.ok) void send({ values: checked.values, ...own });
  };
  if (answer !== null) return <SubmitAnswer answer={answer} onAgain={again} />;
  const errorOf = (key: string): string | undefined => {
    if (checked.ok || (!isTried && checked.missing.includes(key))) return undefined;
    return checked.errors[key];
  };
  return (
    <form className="submit-form submit-layout" onSubmit={submit} noValidate>
      <div className="submit-column">
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
                  onChange={value => setTyped(was => ({ ...was, [parameter.key]: value }))}
                />
              ))}
              <TextField label={submitT('submit.about.name')} value={jobName} onChange={setJobName} />
            </div>
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
      </div>
      <div className="submit-aside">
        <LiveAnswer {...live} problem={summaryOf(checked, template.parameters, t)} isEmpty={false} />
        <Send trouble={trouble} isSending={isSending} />
      </div>
    </form>
  );
}

/** The documents of a submission in which values can differ. */
const partsOf = ({ config, dataloader, files }: TemplateDetail['submission']) => ({
  ...config,
  ...(dataloader !== undefined && { dataloader }),
  ...(files !== undefined && { files }),
});

interface ActionsProps extends FormProps {
  readonly filled: TemplateDetail['submission'];
}

function TemplateActions({ template: { name, submission }, filled, onEdit }: ActionsProps) {
  const t = useTemplateT();
  const [, go] = useLocation();
  const { client } = usePanel();
  const [isDeleting, setDeleting] = useState(false);
  const remove = async (): Promise<void> => {
    const answer = await client.call(templatesApi.remove, { params: { template: name } });
    if (!answer.ok) return showFailure(t, answer.failure);
    showToast(t('templates.deleted', { name }));
    go('/jobs/new');
  };
  const openAll = (): void => {
    keepDraft(sessionStorage, null, draftFrom(name, { ...submission, ...filled }));
    go('/jobs/new');
  };
  return (
    <div className="answer-foot">
      <Button onClick={openAll}>{t('templates.open')}</Button>
      <Allowed call={templatesApi.replace}>
        <Button onClick={onEdit}>{t('templates.edit')}</Button>
      </Allowed>
      <Allowed call={templatesApi.remove}>
        <Button kind="danger" onClick={() => setDeleting(true)}>
          {t('templates.delete')}
        </Button>
      </Allowed>
      {isDeleting && (
        <Confirm
          title={t('templates.delete.title', { name })}
          consequence={t('templates.delete.consequence')}
          act={t('templates.delete.act')}
          onConfirm={() => void remove()}
          onClose={() => setDeleting(false)}
        />
      )}
    </div>
  );
}
