import {
  type Dispatch,
  type SetStateAction,
  type SubmitEvent,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { configsApi } from '../../../../protocol/configs-api.ts';
import type { TrainerConfig } from '../../../../protocol/job.ts';
import { templatesApi } from '../../../../protocol/templates-api.ts';
import { trainerFor } from '../../../../trainers/index.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { Button } from '../../../ui/button.tsx';
import { ConfigEditor } from './config-editor.tsx';
import { ConfigForm } from './config-form.tsx';
import { ConfigDiff } from './config-parts.tsx';
import { ConfigPicker } from './config-picker.tsx';
import { Send } from './send.tsx';
import { readText, type ReadText } from './config-text.ts';
import { DataCard } from './data-card.tsx';
import { checkDraft, errorText, type PartProps, toFieldErrors } from './draft-check.ts';
import { type Draft, emptyDraft } from './draft.ts';
import { Advanced } from './fields.tsx';
import { Findings, useArguments } from './findings.tsx';
import { LiveAnswer } from './live-answer.tsx';
import type { Model } from './origins.ts';
import { SaveDialog } from './save-dialog.tsx';
import { forgetDraft, keepDraft } from './stored-draft.ts';
import { SubmitAnswer } from './submit-answer.tsx';
import { useTemplateT } from './templates/texts.tsx';
import { useSubmitT } from './texts.tsx';
import { type DryRun, useLiveAnswer } from './use-live-answer.ts';
import { useSubmit } from './use-submit.ts';

interface FormProps {
  readonly model: Model;
  readonly draft: Draft;
  readonly setDraft: Dispatch<SetStateAction<Draft>>;
  readonly onTemplate: () => void;
}

/** The form for a new job. A panel next to the form shows whether and when the job could start. */
export function SubmitForm({ model: { from, isConfigLost }, draft, setDraft, onTemplate }: FormProps) {
  const t = useSubmitT();
  const templateT = useTemplateT();
  const change = (part: Partial<Draft>): void => setDraft(was => ({ ...was, ...part }));
  const { send, isSending, errors, trouble, answer, again } = useSubmit();
  const checked = useMemo(() => checkDraft(draft, t), [draft, t]);
  const live = useLiveAnswer(checked.ok && answer === null ? checked.body : null);
  const isDone = answer?.success === true;
  useEffect(() => {
    if (isDone || draft === emptyDraft) forgetDraft(sessionStorage, from);
    else keepDraft(sessionStorage, from, draft);
  }, [isDone, draft, from]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send(draft);
  };
  if (answer !== null) return <SubmitAnswer answer={answer} onAgain={again} />;
  const isEmpty = draft.config.trim() === '' && draft.configName.trim() === '';
  const shownErrors = { ...(live.failure === null ? {} : toFieldErrors(live.failure)), ...errors };
  const [problem = null] = checked.ok ? [] : Object.values(checked.errors);
  return (
    <form className="submit-form submit-layout" onSubmit={submit} noValidate>
      <div className="submit-column">
        {isConfigLost && <p className="note">{t('jobs.submit.configLost')}</p>}
        <ConfigCard draft={draft} errors={shownErrors} change={change} answer={live.answer} />
        <DataCard draft={draft} answer={live.answer} change={change} />
        <Advanced draft={draft} errors={shownErrors} change={change} />
      </div>
      <div className="submit-aside">
        <LiveAnswer {...live} problem={problem} isEmpty={isEmpty} />
        <Send trouble={trouble} isSending={isSending}>
          <Button disabled={isEmpty} onClick={() => setDraft(emptyDraft)}>
            {t('submit.clear')}
          </Button>
          <Allowed call={templatesApi.create}>
            <Button disabled={!checked.ok} onClick={onTemplate}>
              {templateT('templates.save')}
            </Button>
          </Allowed>
        </Send>
      </div>
    </form>
  );
}

interface Valid {
  readonly text: string;
  readonly format: Draft['format'];
  readonly config: TrainerConfig;
}

/** Returns the last valid config, because the text is often invalid while the user types. Returns null for an empty text. */
function useLastValid({ config: text, format }: Draft, read: ReadText): Valid | null {
  const last = useRef<Valid | null>(null);
  return useMemo(() => {
    if (read.ok) last.current = { text, format, config: read.config };
    if (text.trim() === '') last.current = null;
    return last.current;
  }, [read, text, format]);
}

/** Edits the config: its name, the most frequently changed settings, the differences from its origin, and the text. */
function ConfigCard({ draft, errors, change, answer }: PartProps & { readonly answer: DryRun | null }) {
  const t = useSubmitT();
  const [isSaving, setSaving] = useState(false);
  const { config, format, base } = draft;
  const read = useMemo(() => readText(config, format), [config, format]);
  const valid = useLastValid(draft, read);
  const trainer = useMemo(() => (valid === null ? null : trainerFor(valid.config)), [valid]);
  const knownArguments = useArguments(trainer?.name ?? null);
  const isEmpty = config.trim() === '';
  const syntax = isEmpty || read.ok ? undefined : errorText(read, format, t);
  return (
    <fieldset className="card">
      <legend>
        {t('submit.config')}
        {trainer !== null && <span className="chip">{trainer.title}</span>}
      </legend>
      <div className="card-body">
        <ConfigPicker draft={draft} error={errors['config_name']} change={change} />
        {valid !== null && (
          <ConfigForm text={valid.text} format={valid.format} isStale={!read.ok} change={change} />
        )}
        {read.ok && base !== null && (
          <ConfigDiff
            before={base.config}
            after={read.config}
            label={t('jobs.configs.diff', { name: base.name })}
            names={[base.name, t('jobs.diff.run')]}
          />
        )}
        <ConfigEditor
          draft={draft}
          error={syntax ?? errors['config']}
          trainer={trainer?.name ?? null}
          known={knownArguments}
          change={change}
        />
        {read.ok && trainer !== null && (
          <Findings
            draft={draft}
            trainer={trainer}
            config={read.config}
            known={knownArguments}
            answer={answer}
            change={change}
          />
        )}
        <Allowed call={configsApi.put}>
          <div>
            <Button disabled={!read.ok} onClick={() => setSaving(true)}>
              {t('jobs.save.open')}
            </Button>
          </div>
        </Allowed>
        {isSaving && read.ok && (
          <SaveDialog draft={draft} config={read.config} change={change} onClose={() => setSaving(false)} />
        )}
      </div>
    </fieldset>
  );
}
