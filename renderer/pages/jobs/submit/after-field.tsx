import { Suspense, useId, useMemo, useState } from 'react';
import { JobId } from '../../../../protocol/ids.ts';
import { isFinal } from '../../../../protocol/job.ts';
import { shownName } from '../../../../protocol/job-about.ts';
import { useFleet } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { Choice } from '../field.tsx';
import { InputTexts } from '../inputs/texts.tsx';
import type { PartProps } from './draft-check.ts';
import { InputRows } from './input-rows.tsx';
import { useSubmitT } from './texts.tsx';

/** Maximum number of jobs that the input suggests. Users can type the id of any other job. */
const maxOffered = 50;

/** Selects the jobs that must end before this job starts. */
export function AfterField({ draft: { after, afterOn, inputs }, errors, change }: PartProps) {
  const t = useSubmitT();
  const title = useId();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const nameOf = (id: JobId): string => {
    const job = jobs.get(id);
    return job === undefined ? id : shownName(job);
  };
  const error = errors['after'] ?? errors['inputs'];
  return (
    <div className="field" role="group" aria-labelledby={title}>
      <span id={title}>{t('submit.after')}</span>
      {after.map(id => (
        <div key={id} className="after-job">
          <div className="after-row">
            <span translate="no">
              {nameOf(id)} <code>{id}</code>
            </span>
            <Button
              kind="quiet"
              aria-label={t('submit.after.remove', { name: nameOf(id) })}
              onClick={() =>
                change({
                  after: after.filter(other => other !== id),
                  inputs: inputs.filter(({ from }) => from !== id),
                })
              }
            >
              ×
            </Button>
          </div>
          <Suspense fallback={null}>
            <InputTexts>
              <InputRows
                job={{ id, name: nameOf(id) }}
                inputs={inputs}
                onChange={next => change({ inputs: next })}
              />
            </InputTexts>
          </Suspense>
        </div>
      ))}
      <JobInput after={after} onAdd={id => change({ after: [...after, id] })} />
      {error !== undefined && (
        <span className="trouble" role="alert">
          {error}
        </span>
      )}
      {after.length > 0 && (
        <Choice
          label={t('submit.after.on')}
          value={afterOn}
          choices={[
            ['success', t('submit.after.success')],
            ['end', t('submit.after.end')],
          ]}
          onChange={on => change({ afterOn: on })}
        />
      )}
    </div>
  );
}

interface JobInputProps {
  readonly after: readonly JobId[];
  readonly onAdd: (id: JobId) => void;
}

/** Adds a job that the user selects from the list of unfinished jobs, or whose id the user types and confirms with Enter. */
function JobInput({ after, onAdd }: JobInputProps) {
  const t = useSubmitT();
  const list = useId();
  const [text, setText] = useState('');
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const offered = useMemo(
    () =>
      [...jobs.values()]
        .filter(({ id, status }) => !isFinal(status) && !after.includes(id))
        .slice(0, maxOffered),
    [jobs, after],
  );
  const add = (id: JobId): void => {
    setText('');
    if (!after.includes(id)) onAdd(id);
  };
  const confirm = (): void => {
    const id = JobId.safeParse(text.trim());
    if (id.success) add(id.data);
  };
  return (
    <>
      <input
        aria-label={t('submit.after.add')}
        placeholder={t('submit.after.add')}
        list={list}
        value={text}
        onChange={({ target: { value } }) => {
          const chosen = offered.find(({ id }) => id === value.trim());
          if (chosen === undefined) setText(value);
          else add(chosen.id);
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          confirm();
        }}
        onBlur={confirm}
      />
      <datalist id={list}>
        {offered.map(job => (
          <option key={job.id} value={job.id}>
            {shownName(job)}
          </option>
        ))}
      </datalist>
    </>
  );
}
