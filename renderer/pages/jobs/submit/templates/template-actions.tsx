import { useState } from 'react';
import { useLocation } from 'wouter';
import type { TemplateDetail } from '../../../../../protocol/template.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { usePanel } from '../../../../app/context.ts';
import { Allowed } from '../../../../app/guarded.tsx';
import { Button } from '../../../../ui/button.tsx';
import { Confirm } from '../../../../ui/dialog.tsx';
import { showFailure, showToast } from '../../../../ui/toast.tsx';
import { keepDraft } from '../stored-draft.ts';
import { useTemplateT } from './texts.tsx';
import { draftFrom } from './values.ts';

interface ActionsProps {
  readonly template: TemplateDetail;
  readonly onEdit: () => void;
  /** The submission with the values of the form. */
  readonly filled: TemplateDetail['submission'];
}

/** Buttons that open all settings of a template in the form for jobs, edit the template, or delete it. */
export function TemplateActions({ template: { name, submission }, filled, onEdit }: ActionsProps) {
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
