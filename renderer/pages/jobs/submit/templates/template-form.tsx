import { type SubmitEvent, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import type { TemplateDetail } from '../../../../../protocol/template.ts';
import { detailOf } from '../../../../api/session.ts';
import { LiveAnswer } from '../live-answer.tsx';
import { Send } from '../send.tsx';
import { SubmitAnswer } from '../submit-answer.tsx';
import { useLiveAnswer } from '../use-live-answer.ts';
import { SweepAnswer } from './sweep-answer.tsx';
import { SweepSummary } from './sweep-summary.tsx';
import { TemplateEditor } from './template-editor.tsx';
import { TemplatePicker } from './template-picker.tsx';
import { useTemplateT } from './texts.tsx';
import { useTemplateSubmit } from './use-template-submit.ts';
import { addressOf, useTemplate } from './use-templates.ts';
import { emptyForm, ValuesCard } from './values-card.tsx';
import { checkValues, summaryOf } from './values.ts';

/** The form for the values of a template, or the editor of the template. */
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
  const [form, setForm] = useState(emptyForm);
  /** True after the first click on submit. Until then, missing values are not shown as errors. */
  const [isTried, setTried] = useState(false);
  const { typed, sweep, jobName } = form;
  const checked = useMemo(() => checkValues(template, typed, t, sweep), [template, typed, t, sweep]);
  const { send, isSending, trouble, answer, again } = useTemplateSubmit(template.name);
  const live = useLiveAnswer(checked.ok && answer === null ? checked.submission : null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setTried(true);
    const own = jobName.trim() === '' ? {} : { name: jobName.trim() };
    if (checked.ok) void send({ values: checked.values, ...own }, [...checked.sweep.axes]);
  };
  if (answer?.kind === 'sweep') return <SweepAnswer answer={answer.answer} onAgain={again} />;
  if (answer !== null) return <SubmitAnswer answer={answer.answer} onAgain={again} />;
  const errorOf = (key: string): string | undefined => {
    if (checked.ok || (!isTried && checked.missing.includes(key))) return undefined;
    return checked.errors[key];
  };
  return (
    <form className="submit-form submit-layout" onSubmit={submit} noValidate>
      <div className="submit-column">
        <ValuesCard
          template={template}
          form={form}
          setForm={setForm}
          checked={checked}
          errorOf={errorOf}
          onEdit={onEdit}
        />
      </div>
      <div className="submit-aside">
        <LiveAnswer {...live} problem={summaryOf(checked, template.parameters, t)} isEmpty={false} />
        {checked.ok && <SweepSummary sweep={checked.sweep} parameters={template.parameters} />}
        <Send trouble={trouble} isSending={isSending} />
      </div>
    </form>
  );
}
