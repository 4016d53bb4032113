import { type Dispatch, type SetStateAction, type SubmitEvent, useMemo, useState } from 'react';
import type { CallInput } from '../../../../../protocol/client.ts';
import type { TemplateView } from '../../../../../protocol/template.ts';
import { templatesApi } from '../../../../../protocol/templates-api.ts';
import { detailOf } from '../../../../api/session.ts';
import { usePanel } from '../../../../app/context.ts';
import { Button } from '../../../../ui/button.tsx';
import { showToast } from '../../../../ui/toast.tsx';
import { Field, TextField } from '../../field.tsx';
import { KeyList } from './key-list.tsx';
import {
  type Candidate,
  candidatesOf,
  draftOf,
  errorsOf,
  idOf,
  newParameter,
  type ParameterDraft,
  toParameter,
} from './parameter-draft.ts';
import { ParameterForm } from './parameter-form.tsx';
import { useTemplateT } from './texts.tsx';

type NewTemplate = NonNullable<CallInput<typeof templatesApi.create>['body']>;
type Submission = NonNullable<NewTemplate['submission']>;

interface EditorProps {
  readonly submission: Submission;
  /** The template that the user changes; null for a new one. */
  readonly template: TemplateView | null;
  readonly onSaved: (name: string) => void;
  readonly onClose: () => void;
}

/** Edits the name, description and parameters of a template. */
export function TemplateEditor({ submission, template, onSaved, onClose }: EditorProps) {
  const t = useTemplateT();
  const [name, setName] = useState(template?.name ?? '');
  const [description, setDescription] = useState(template?.description ?? '');
  const [parameters, setParameters] = useState(() => (template?.parameters ?? []).map(draftOf));
  const candidates = useMemo(() => candidatesOf(submission), [submission]);
  const asked = new Set(parameters.map(idOf));
  const { save, isSaving, trouble, taken, forget } = useSave(template, onSaved);
  const toggle = (candidate: Candidate, isAsked: boolean): void =>
    setParameters(was =>
      isAsked
        ? [...was, newParameter(submission, candidate)]
        : was.filter(each => idOf(each) !== idOf(candidate)),
    );
  const isWrong = parameters.some(each => Object.keys(errorsOf(each)).length > 0);
  const isReady = name.trim() !== '' && !isWrong && !isSaving;
  const body = (): NewTemplate => ({
    name: name.trim(),
    description: description.trim() === '' ? null : description,
    submission,
    parameters: parameters.map(toParameter),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isReady) void save(body(), false);
  };
  return (
    <form className="submit-form template-editor" onSubmit={submit} noValidate>
      <div className="card template-head">
        <TextField
          label={t('templates.name')}
          error={trouble ?? undefined}
          value={name}
          onChange={value => {
            setName(value);
            forget();
          }}
        />
        <Field label={t('templates.description')}>
          {tied => (
            <textarea
              {...tied}
              rows={2}
              maxLength={1_000}
              value={description}
              onChange={({ target }) => setDescription(target.value)}
            />
          )}
        </Field>
      </div>
      <div className="template-columns">
        <AskedValues parameters={parameters} setParameters={setParameters} />
        <section className="card" aria-labelledby="template-keys">
          <h2 id="template-keys">{t('templates.keys')}</h2>
          <KeyList candidates={candidates} asked={asked} onChange={toggle} />
        </section>
      </div>
      <div className="answer-foot">
        <Button kind="primary" type="submit" disabled={!isReady}>
          {t('templates.act')}
        </Button>
        {taken === name.trim() && taken !== '' && (
          <Button kind="danger" disabled={!isReady} onClick={() => void save(body(), true)}>
            {t('templates.replace', { name: taken })}
          </Button>
        )}
        <Button onClick={onClose}>{t('templates.back')}</Button>
      </div>
    </form>
  );
}

interface AskedProps {
  readonly parameters: readonly ParameterDraft[];
  readonly setParameters: Dispatch<SetStateAction<ParameterDraft[]>>;
}

/** The values that the template asks for, in the order of its form. */
function AskedValues({ parameters, setParameters }: AskedProps) {
  const t = useTemplateT();
  return (
    <section className="card" aria-labelledby="template-asked">
      <h2 id="template-asked">{t('templates.asked')}</h2>
      {parameters.length === 0 && <p className="muted">{t('templates.asked.none')}</p>}
      {parameters.map((draft, index) => (
        <ParameterForm
          key={idOf(draft)}
          draft={draft}
          isFirst={index === 0}
          isLast={index === parameters.length - 1}
          change={part =>
            setParameters(was => was.map(each => (each === draft ? { ...each, ...part } : each)))
          }
          move={by => setParameters(was => moved(was, index, by))}
          remove={() => setParameters(was => was.filter(each => each !== draft))}
        />
      ))}
    </section>
  );
}

function moved(list: readonly ParameterDraft[], from: number, by: 1 | -1): ParameterDraft[] {
  const next = [...list];
  next.splice(from + by, 0, ...next.splice(from, 1));
  return next;
}

/** Saves the template. Replaces another template with the same name only if `replacesOther` is true. */
function useSave(template: TemplateView | null, onSaved: (name: string) => void) {
  const t = useTemplateT();
  const { client } = usePanel();
  const [isSaving, setSaving] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  /** The name of an existing template that the user can replace after a rejected save; empty for none. */
  const [taken, setTaken] = useState('');
  const save = async (body: NewTemplate, replacesOther: boolean): Promise<void> => {
    setSaving(true);
    const old = replacesOther ? body.name : template?.name;
    const revision = replacesOther ? undefined : template?.revision;
    const answer =
      old === undefined
        ? await client.call(templatesApi.create, { body })
        : await client.call(templatesApi.replace, {
            params: { template: old },
            body: { ...body, ...(revision !== undefined && { revision }) },
          });
    setSaving(false);
    if (answer.ok) {
      showToast(t('templates.saved', { name: answer.value.name }));
      return onSaved(answer.value.name);
    }
    const { failure } = answer;
    const isTaken = failure.kind === 'problem' && failure.problem.code === 'name_taken';
    setTaken(isTaken ? body.name : '');
    setTrouble(detailOf(failure) ?? t('error.unreachable'));
  };
  const forget = (): void => {
    setTrouble(null);
    setTaken('');
  };
  return { save, isSaving, trouble, taken, forget };
}
