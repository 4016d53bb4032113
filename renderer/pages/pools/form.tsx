import { type SubmitEvent, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { PoolView } from '../../../protocol/pool.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { detailOf } from '../../api/session.ts';
import { usePanel } from '../../app/context.ts';
import { Button } from '../../ui/button.tsx';
import { Choice, Field, TextField } from '../jobs/field.tsx';
import { CheckResult } from './check.tsx';
import {
  advancedFields,
  checkDraft,
  type Draft,
  emptyDraft,
  engineFields,
  type FieldErrors,
  type FieldSpec,
  limitFields,
  machineFields,
  toDraft,
} from './draft.ts';
import { HoursFields } from './hours-fields.tsx';
import { usePoolT } from './texts.tsx';

interface PoolFormProps {
  /** The pool to change; null for a new pool. */
  readonly pool: PoolView | null;
}

const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

export function PoolForm({ pool }: PoolFormProps) {
  const t = usePoolT();
  const [draft, setDraft] = useState(() =>
    pool === null ? emptyDraft(ownZone()) : toDraft(pool, ownZone()),
  );
  const { send, isSending, errors, trouble } = useSave(pool);
  const form = useRef<HTMLFormElement>(null);
  const put = (name: string, value: string): void =>
    setDraft(was => ({ ...was, values: { ...was.values, [name]: value } }));
  const parts = { draft, errors, put };
  const count = Object.keys(errors).length;
  useEffect(() => {
    if (count > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [errors, count]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void send(draft);
  };
  return (
    <form ref={form} className="submit-form pool-form" onSubmit={submit} noValidate>
      <EngineFields {...parts} pool={pool} onKind={kind => setDraft(was => ({ ...was, kind }))} />
      <fieldset className="card">
        <legend>{t('pools.form.machines')}</legend>
        <Fields {...parts} fields={machineFields} />
      </fieldset>
      <fieldset className="card">
        <legend>{t('pools.form.limits')}</legend>
        <Fields {...parts} fields={limitFields} />
        <HoursFields
          hours={draft.hours}
          errors={errors}
          onChange={hours => setDraft(was => ({ ...was, hours }))}
        />
      </fieldset>
      <Advanced {...parts} />
      {count > 0 && (
        <p className="trouble" role="alert">
          {t('pools.form.errors', { count })}
        </p>
      )}
      {trouble !== null && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
      {pool !== null && <p className="muted">{t('pools.form.tryOut')}</p>}
      <div>
        <Button kind="primary" type="submit" disabled={isSending}>
          {t(pool === null ? 'pools.form.create' : 'pools.form.save')}
        </Button>
      </div>
    </form>
  );
}

const noErrors: FieldErrors = {};

/** Creates or replaces the pool, and opens its page. */
function useSave(pool: PoolView | null) {
  const t = usePoolT();
  const { client } = usePanel();
  const [, go] = useLocation();
  const [isSending, setSending] = useState(false);
  const [errors, setErrors] = useState(noErrors);
  const [trouble, setTrouble] = useState<string | null>(null);
  const send = async (draft: Draft): Promise<void> => {
    const checked = checkDraft(draft);
    setTrouble(null);
    setErrors(checked.ok ? noErrors : checked.errors);
    if (!checked.ok) return;
    setSending(true);
    const answer = await (pool === null
      ? client.call(poolsApi.create, { body: checked.body })
      : client.call(poolsApi.update, { params: { id: pool.pool_id }, body: checked.body }));
    setSending(false);
    if (answer.ok) go(`/pools/${answer.value.pool_id}${pool === null ? '/check' : ''}`);
    else setTrouble(detailOf(answer.failure) ?? t('error.unreachable'));
  };
  return { send, isSending, errors, trouble };
}

interface PartProps {
  readonly draft: Draft;
  readonly errors: FieldErrors;
  readonly put: (name: string, value: string) => void;
}

interface EngineFieldsProps extends PartProps, PoolFormProps {
  readonly onKind: (kind: Draft['kind']) => void;
}

const kinds = ['slurm', 'kubernetes', 'command'] as const;
/** The form field that contains the name of a queue, by engine. */
const queueFields = { slurm: 'partition', kubernetes: 'queue', command: null } as const;

function EngineFields({ draft, errors, put, pool, onKind }: EngineFieldsProps) {
  const t = usePoolT();
  const [isChecking, setChecking] = useState(false);
  const queueField = queueFields[draft.kind];
  return (
    <fieldset className="card">
      <legend>{t('pools.form.what')}</legend>
      <div className="field-grid">
        <PoolField field={{ name: 'name', kind: 'text', hint: 'name' }} {...{ draft, errors, put }} />
        <Choice
          label={t('pools.field.kind')}
          value={draft.kind}
          choices={kinds.map(kind => [kind, t(`pools.engine.${kind}`)] as const)}
          onChange={onKind}
        />
      </div>
      <Fields draft={draft} errors={errors} put={put} fields={engineFields[draft.kind]} />
      {pool !== null && (
        <>
          <div className="pool-check-act">
            <Button disabled={isChecking} onClick={() => setChecking(true)}>
              {t('pools.act.check')}
            </Button>
            <span className="muted">{t('pools.check.saved')}</span>
          </div>
          {isChecking && (
            <CheckResult
              id={pool.pool_id}
              {...(queueField !== null && { onUse: queue => put(queueField, queue) })}
            />
          )}
        </>
      )}
    </fieldset>
  );
}

/** Settings that most pools leave unchanged. The section opens automatically when one of these settings has an error. */
function Advanced(parts: PartProps) {
  const t = usePoolT();
  const [isOpen, setOpen] = useState(false);
  const isWrong = advancedFields.some(({ name }) => parts.errors[name] !== undefined);
  return (
    <details
      className="card pool-advanced"
      open={isOpen || isWrong}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{t('pools.form.advanced')}</summary>
      <Fields {...parts} fields={advancedFields} />
    </details>
  );
}

function Fields({ fields, ...parts }: PartProps & { readonly fields: readonly FieldSpec[] }) {
  return (
    <div className="field-grid">
      {fields.map(field => (
        <PoolField key={field.name} field={field} {...parts} />
      ))}
    </div>
  );
}

function PoolField({ field, draft, errors, put }: PartProps & { readonly field: FieldSpec }) {
  const t = usePoolT();
  const { name, kind, hint } = field;
  const wrong = errors[name];
  const texts = {
    label: t(`pools.field.${name}`),
    hint: hint === undefined ? undefined : t(`pools.hint.${hint}`),
    error: wrong === undefined ? undefined : t(`pools.error.${wrong.name}`, wrong.values),
  };
  const value = draft.values[name] ?? '';
  if (kind === 'labels' || kind === 'lines')
    return (
      <Field {...texts}>
        {tied => (
          <textarea
            {...tied}
            rows={3}
            className="mono"
            spellCheck={false}
            value={value}
            onChange={({ target }) => put(name, target.value)}
          />
        )}
      </Field>
    );
  const isNumber = kind === 'number' || kind === 'hours';
  return <TextField {...texts} isNumber={isNumber} value={value} onChange={typed => put(name, typed)} />;
}
