import { type SubmitEvent, useRef, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { detailOf } from '../../../api/session.ts';
import { usePanel, useFleet, useMay } from '../../../app/context.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { checkDraft, type FieldErrors, toFieldErrors, type SubmitBody } from './draft-check.ts';
import type { Draft } from './draft.ts';
import { WhatFields, WhenFields, WhereFields } from './fields.tsx';
import { type Model, useModel } from './configs.ts';
import type { ValueOf } from '../../../../protocol/client.ts';
import { WaitingExplained } from '../details/explanation.tsx';
import { Warnings } from '../warnings.tsx';

/** The page `/jobs/new`. `/jobs/new?from=JOB` copies the settings of another job. */
export function SubmitPage() {
  const t = useT();
  const [params] = useSearchParams();
  const model = useModel(params.get('from'));
  if (model === 'loading') return <div className="page" aria-busy="true" />;
  const { like } = model;
  return (
    <div className="page jobs-page">
      <Allowed call={queueApi.list}>
        <nav className="crumb" aria-label={t('jobs.detail.back')}>
          <Link href="/jobs">{t('jobs.detail.back')}</Link>
        </nav>
      </Allowed>
      <h1>
        {like === null ? t('jobs.submit.title') : t('jobs.submit.duplicate', { config: like.config_name })}
      </h1>
      <SubmitForm model={model} />
    </div>
  );
}

function SubmitForm({ model }: { readonly model: Model }) {
  const t = useT();
  const [draft, setDraft] = useState(model.draft);
  const change = (part: Partial<Draft>): void => setDraft(was => ({ ...was, ...part }));
  const { send, isSending, errors, trouble, answer, again } = useSubmit();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send(draft);
  };
  if (answer !== null)
    return (
      <SubmitAnswer answer={answer} onAgain={again} onSubmit={() => void send(draft)} isSending={isSending} />
    );
  return (
    <form className="submit-form" onSubmit={submit} noValidate>
      <OriginNote model={model} />
      <WhatFields draft={draft} errors={errors} change={change} />
      <WhereFields draft={draft} errors={errors} change={change} />
      <WhenFields draft={draft} errors={errors} change={change} />
      {trouble !== null && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
      <div>
        <Button kind="primary" type="submit" disabled={isSending}>
          {t(isSending ? 'jobs.submit.sending' : 'jobs.submit.send')}
        </Button>{' '}
        <Button disabled={isSending} onClick={() => void send(draft, true)}>
          {t('jobs.submit.try')}
        </Button>
      </div>
    </form>
  );
}

/** Explains which config a copied job uses, unless it is simply the one with that name. */
function OriginNote({ model: { like, draft, isConfigLost } }: { readonly model: Model }) {
  const t = useT();
  if (like === null) return null;
  if (isConfigLost) return <p className="note">{t('jobs.submit.configLost')}</p>;
  if (draft.source === 'name') return null;
  return (
    <p className="note">
      {draft.base === null
        ? t('jobs.submit.ownConfig')
        : t('jobs.submit.otherByNow', { name: draft.base.name })}
    </p>
  );
}

const noErrors: FieldErrors = {};

function useSubmit() {
  const t = useT();
  const { client } = usePanel();
  const [isSending, setSending] = useState(false);
  const [errors, setErrors] = useState(noErrors);
  const [trouble, setTrouble] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const keyOf = useIdempotencyKey();
  const send = async (draft: Draft, dryRun = false): Promise<void> => {
    const checked = checkDraft(draft, t);
    setErrors(checked.ok ? noErrors : checked.errors);
    setTrouble(null);
    if (!checked.ok) return;
    setSending(true);
    const body = dryRun
      ? { ...checked.body, dry_run: true }
      : { ...checked.body, idempotency_key: keyOf(checked.body) };
    const result = await client.call(queueApi.submit, { body });
    setSending(false);
    if (result.ok) return setAnswer(result.value);
    // The fields show the errors, so clear the general message.
    setAnswer(null);
    const found = toFieldErrors(result.failure);
    setErrors(found ?? noErrors);
    if (found === null) setTrouble(detailOf(result.failure) ?? t('error.unreachable'));
  };
  const again = (): void => {
    keyOf.forget();
    setAnswer(null);
  };
  return { send, isSending, errors, trouble, answer, again };
}

/**
 * Returns the idempotency key for a request. Until the request is answered, the key stays the same, so that a retry
 * creates no second job.
 */
function useIdempotencyKey() {
  const last = useRef<{ readonly body: string; readonly key: string } | null>(null);
  const keyOf = (body: SubmitBody): string => {
    const text = JSON.stringify(body);
    if (last.current?.body !== text) last.current = { body: text, key: randomKey() };
    return last.current.key;
  };
  const forget = (): void => {
    last.current = null;
  };
  return Object.assign(keyOf, { forget });
}

/** Creates a random key. Pages over plain HTTP have no `randomUUID`. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');

type Answer = ValueOf<typeof queueApi.submit>;

interface AnswerProps {
  readonly answer: Answer;
  readonly onAgain: () => void;
  /** Submits the job after a successful dry run. */
  readonly onSubmit: () => void;
  readonly isSending: boolean;
}

/** Shows the answer to a submit or a dry run. */
function SubmitAnswer({ answer, onAgain, onSubmit, isSending }: AnswerProps) {
  const t = useT();
  const may = useMay();
  const { status, job_id: id, reason, allocated_worker_id: worker, queue_position: place } = answer;
  const name = useFleet(({ fleet }) =>
    worker === null ? null : (fleet.workers.get(worker)?.name ?? worker),
  );
  const words = {
    running: t('jobs.answer.running', { worker: name ?? '' }),
    queued: t('jobs.answer.queued', { position: place ?? '' }),
    blocked: t('jobs.answer.blocked'),
    rejected: t('jobs.answer.rejected'),
    completed: t('jobs.answer.ended', { state: t('state.completed') }),
    failed: t('jobs.answer.ended', { state: t('state.failed') }),
    cancelled: t('jobs.answer.ended', { state: t('state.cancelled') }),
  };
  const isTried = 'explanation' in answer;
  return (
    <section className="card" role="status">
      {isTried && <p className="muted">{t('jobs.answer.tried')}</p>}
      <h2>{isTried && answer.explanation.unsatisfiable ? t('jobs.answer.impossible') : words[status]}</h2>
      {reason !== null && <p>{reason}</p>}
      {'warnings' in answer && <Warnings warnings={answer.warnings ?? []} />}
      {isTried && <WaitingExplained explanation={answer.explanation} isHeadline />}
      <div className="answer-foot">
        {id !== null && may(queueApi.get) && (
          <Link href={`/jobs/${id}`} className="button button-primary">
            {t('jobs.answer.open')}
          </Link>
        )}
        {id !== null && !may(queueApi.get) && <code>{id}</code>}
        {isTried && status !== 'rejected' && (
          <Button kind="primary" disabled={isSending} onClick={onSubmit}>
            {t(isSending ? 'jobs.submit.sending' : 'jobs.submit.send')}
          </Button>
        )}
        <Button onClick={onAgain}>{t(isTried ? 'jobs.submit.back' : 'jobs.submit.again')}</Button>
      </div>
    </section>
  );
}
