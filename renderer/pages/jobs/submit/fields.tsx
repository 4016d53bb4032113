import { useId, useState } from 'react';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { AfterField } from './after-field.tsx';
import type { PartProps } from './draft-check.ts';
import { Choice, Field, TextField, Tick } from '../field.tsx';
import { priorityChoices, priorityText } from '../figures.ts';
import { useSubmitT } from './texts.tsx';

/** Settings that most jobs leave unchanged. The section opens automatically when one of these settings has an error. */
export function Advanced(props: PartProps) {
  const t = useSubmitT();
  const [isOpen, setOpen] = useState(false);
  const hasError = Object.keys(props.errors).some(field => !['config', 'config_name'].includes(field));
  return (
    <details
      className="card advanced"
      open={isOpen || hasError}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{t('submit.advanced')}</summary>
      <AboutFields {...props} />
      <WhereFields {...props} />
      <WhenFields {...props} />
    </details>
  );
}

function AboutFields({ draft, errors, change }: PartProps) {
  const t = useSubmitT();
  return (
    <fieldset>
      <legend>{t('submit.about')}</legend>
      <div className="field-grid">
        <TextField
          label={t('submit.about.name')}
          error={errors['name']}
          value={draft.name}
          onChange={name => change({ name })}
        />
        <TextField
          label={t('submit.about.group')}
          error={errors['group']}
          value={draft.group}
          onChange={group => change({ group })}
        />
        <TextField
          label={t('submit.about.tags')}
          hint={t('submit.about.tagsHint')}
          error={errors['tags']}
          value={draft.tags}
          onChange={tags => change({ tags })}
        />
      </div>
      <Field label={t('submit.about.notes')} error={errors['notes']}>
        {tied => (
          <textarea
            {...tied}
            rows={2}
            value={draft.notes}
            onChange={({ target }) => change({ notes: target.value })}
          />
        )}
      </Field>
    </fieldset>
  );
}

function WhereFields({ draft, errors, change }: PartProps) {
  const t = useT();
  return (
    <fieldset>
      <legend>{t('jobs.submit.where')}</legend>
      <div className="field-grid">
        <Choice
          label={t('jobs.submit.target')}
          error={errors['target']}
          value={draft.target}
          choices={[
            ['auto', t('jobs.target.auto')],
            ['worker', t('jobs.target.worker')],
            ['local', t('jobs.target.local')],
          ]}
          onChange={target => change({ target })}
        />
        <TextField
          label={t('jobs.submit.accelerator')}
          hint={t('jobs.submit.acceleratorHint')}
          error={errors['accelerator']}
          value={draft.accelerator}
          onChange={accelerator => change({ accelerator })}
        />
        <TextField
          isNumber
          label={t('jobs.submit.machines')}
          hint={t('jobs.submit.machinesHint')}
          error={errors['num_nodes']}
          value={draft.nodes}
          onChange={nodes => change({ nodes })}
        />
        <TextField
          isNumber
          label={t('jobs.submit.gpus')}
          hint={t('jobs.submit.gpusHint')}
          error={errors['gpu_count']}
          value={draft.gpus}
          onChange={gpus => change({ gpus })}
        />
        <TextField
          isNumber
          label={t('jobs.submit.vram')}
          error={errors['gpu_vram_gb']}
          value={draft.vramGb}
          onChange={vramGb => change({ vramGb })}
        />
      </div>
      <Tick
        label={t('jobs.submit.anyGpu')}
        error={errors['any_gpu']}
        isOn={draft.takesAnyGpu}
        onChange={takesAnyGpu => change({ takesAnyGpu })}
      />
      <LabelRows draft={draft} errors={errors} change={change} />
    </fieldset>
  );
}

function LabelRows({ draft: { labels }, errors, change }: PartProps) {
  const t = useT();
  const title = useId();
  const error = errors['worker_labels'];
  const put = (id: number, part: { readonly key?: string; readonly pattern?: string }): void =>
    change({ labels: labels.map(row => (row.id === id ? { ...row, ...part } : row)) });
  const add = (): void => {
    const id = Math.max(0, ...labels.map(row => row.id)) + 1;
    change({ labels: [...labels, { id, key: '', pattern: '' }] });
  };
  return (
    <div className="field" role="group" aria-labelledby={title}>
      <span id={title}>{t('jobs.submit.labels')}</span>
      {labels.map(({ id, key, pattern }) => (
        <div key={id} className="label-row">
          <input
            aria-label={t('jobs.submit.labelKey')}
            placeholder={t('jobs.submit.labelKey')}
            value={key}
            onChange={({ target }) => put(id, { key: target.value })}
          />
          <input
            aria-label={t('jobs.submit.labelPattern')}
            placeholder={t('jobs.submit.labelPattern')}
            value={pattern}
            onChange={({ target }) => put(id, { pattern: target.value })}
          />
          <Button
            kind="quiet"
            aria-label={t('jobs.submit.labelRemove', { key })}
            onClick={() => change({ labels: labels.filter(row => row.id !== id) })}
          >
            ×
          </Button>
        </div>
      ))}
      {error !== undefined && (
        <span className="trouble" role="alert">
          {error}
        </span>
      )}
      <div>
        <Button onClick={add}>{t('jobs.submit.labelAdd')}</Button>
      </div>
    </div>
  );
}

function WhenFields({ draft, errors, change }: PartProps) {
  const t = useT();
  return (
    <fieldset>
      <legend>{t('jobs.submit.when')}</legend>
      <div className="field-grid">
        <Choice
          label={t('jobs.submit.priority')}
          error={errors['priority']}
          value={String(draft.priority)}
          choices={priorityChoices(draft.priority).map(
            number => [String(number), priorityText(number, t)] as const,
          )}
          onChange={priority => change({ priority: Number(priority) })}
        />
        <Choice
          label={t('jobs.submit.lostContact')}
          error={errors['on_lost_contact']}
          value={draft.onLostContact}
          choices={[
            ['continue', t('jobs.lost.continue')],
            ['stop', t('jobs.lost.stop')],
          ]}
          onChange={onLostContact => change({ onLostContact })}
        />
        <TextField
          isNumber
          label={t('jobs.submit.retries')}
          hint={t('jobs.submit.retriesHint')}
          error={errors['max_retries']}
          value={draft.retries}
          onChange={retries => change({ retries })}
        />
        <TextField
          isNumber
          label={t('jobs.submit.timeout')}
          hint={t('jobs.submit.timeoutHint')}
          error={errors['timeout_s']}
          value={draft.timeoutHours}
          onChange={timeoutHours => change({ timeoutHours })}
        />
      </div>
      <AfterField draft={draft} errors={errors} change={change} />
      <Tick
        label={t('jobs.submit.approval')}
        error={errors['requires_approval']}
        isOn={draft.needsApproval}
        onChange={needsApproval => change({ needsApproval })}
      />
      <Tick
        label={t('jobs.submit.noWait')}
        error={errors['no_wait']}
        isOn={draft.isNowOrNever}
        onChange={isNowOrNever => change({ isNowOrNever })}
      />
    </fieldset>
  );
}
