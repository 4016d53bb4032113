import { useMemo, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { templatesApi } from '../../../../protocol/templates-api.ts';
import { useMay } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { checkDraft, type SubmitBody, toInlineSource } from './draft-check.ts';
import type { Draft } from './draft.ts';
import { type Model, useModel } from './origins.ts';
import { forgetDraft } from './stored-draft.ts';
import { SubmitForm } from './submit-form.tsx';
import './submit.css';
import { TemplateEditor } from './templates/template-editor.tsx';
import { TemplatePage } from './templates/template-form.tsx';
import { TemplatePicker } from './templates/template-picker.tsx';
import './templates/templates.css';
import { TemplateTexts, useTemplateT } from './templates/texts.tsx';
import { addressOf, useTemplates } from './templates/use-templates.ts';
import { SubmitTexts, useSubmitT } from './texts.tsx';

/**
 * The page `/jobs/new`. `/jobs/new?from=JOB` copies the settings of another job. `/jobs/new?template=NAME` shows the
 * form for the values of a template.
 */
export function SubmitPage() {
  const [params] = useSearchParams();
  const template = params.get('template') ?? '';
  // With this key, a change of the template creates a new form, which reads the stored draft again.
  return <PageFor key={template} template={template} opensEditor={params.has('save')} />;
}

interface PageProps {
  /** The name of the template in the URL; empty for none. */
  readonly template: string;
  /** True if the page opens with the template editor, because the user chose to save a job as a template. */
  readonly opensEditor: boolean;
}

function PageFor({ template, opensEditor }: PageProps) {
  const t = useT();
  const model = useModel();
  if (model === 'loading') return <div className="page" aria-busy="true" />;
  return (
    <SubmitTexts>
      <TemplateTexts>
        <div className="page jobs-page">
          <Allowed call={queueApi.list}>
            <nav className="crumb" aria-label={t('jobs.detail.back')}>
              <Link href="/jobs">{t('jobs.detail.back')}</Link>
            </nav>
          </Allowed>
          {template === '' ? (
            <SubmitView key={model.from ?? ''} model={model} opensEditor={opensEditor} />
          ) : (
            <TemplatePage name={template} />
          )}
        </div>
      </TemplateTexts>
    </SubmitTexts>
  );
}

interface ViewProps extends Pick<PageProps, 'opensEditor'> {
  readonly model: Model;
}

/** The form, or the editor that turns the contents of the form into a template. */
function SubmitView({ model, opensEditor }: ViewProps) {
  const t = useTemplateT();
  const submitT = useSubmitT();
  const [, go] = useLocation();
  const { like } = model;
  const may = useMay();
  const [draft, setDraft] = useState(model.draft);
  const [isTemplating, setTemplating] = useState(opensEditor && may(templatesApi.create));
  const checked = useMemo(() => checkDraft(draft, submitT), [draft, submitT]);
  const old = useTemplates()?.find(({ name }) => name === draft.template) ?? null;
  if (isTemplating && checked.ok)
    return (
      <>
        <h1>{t('templates.saveTitle')}</h1>
        <TemplateEditor
          key={old?.name ?? ''}
          submission={submissionOf(draft, checked.body)}
          template={old}
          onClose={() => setTemplating(false)}
          onSaved={name => {
            forgetDraft(sessionStorage, model.from);
            go(addressOf(name));
          }}
        />
      </>
    );
  return (
    <>
      <h1>
        {like === null ? t('jobs.submit.title') : t('jobs.submit.duplicate', { config: like.config_name })}
      </h1>
      {like === null && <TemplatePicker current={null} />}
      <SubmitForm model={model} draft={draft} setDraft={setDraft} onTemplate={() => setTemplating(true)} />
    </>
  );
}

/** Returns the submission for a template: with the text of its config, but without parents, which differ per job. */
function submissionOf(draft: Draft, { after: _after, after_on: _on, ...body }: SubmitBody): SubmitBody {
  return { ...body, ...toInlineSource(draft) };
}
