import { useId, useState } from 'react';
import { Link } from 'wouter';
import type { JobEdit } from '../../../../protocol/job-about.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { runsApi } from '../../../../protocol/runs-api.ts';
import { detailOf } from '../../../api/session.ts';
import { useFleet, usePanel } from '../../../app/context.ts';
import { Button } from '../../../ui/button.tsx';
import { RunTexts, useRunT } from '../../compare/texts.tsx';
import { JobChips } from '../job-chips.tsx';
import { previousRun } from '../previous-run.ts';
import { PreviousChanges } from './previous-changes.tsx';
import { RunLinks } from './run-links.tsx';

interface JobProps {
  readonly job: JobDetail;
}

/** Tags, group and notes of a job, and links to comparisons, with an editor for users who may edit the job. */
export const JobAbout = ({ job }: JobProps) => (
  <RunTexts>
    <About job={job} />
  </RunTexts>
);

function About({ job }: JobProps) {
  const t = useRunT();
  const { may } = usePanel();
  const previous = useFleet(({ fleet }) => previousRun(job, fleet.jobs.values()));
  const [isEditing, setEditing] = useState(false);
  if (isEditing) return <Editor job={job} onClose={() => setEditing(false)} />;
  return (
    <div className="job-about">
      <div className="job-about-line">
        <JobChips job={job} />
        <RunLinks job={job} />
        {job.group !== null && (
          <Link className="button button-quiet" href={`/compare?group=${encodeURIComponent(job.group)}`}>
            {t('runs.compareGroup')}
          </Link>
        )}
        {previous !== null && (
          <Link className="button button-quiet" href={`/compare?jobs=${previous},${job.id}`}>
            {t('runs.comparePrevious')}
          </Link>
        )}
        {may(runsApi.edit, job) && (
          <Button kind="quiet" onClick={() => setEditing(true)}>
            {t('runs.edit')}
          </Button>
        )}
      </div>
      {previous !== null && may(queueApi.config, job) && <PreviousChanges job={job} previous={previous} />}
      {job.notes !== null && <p className="job-notes">{job.notes}</p>}
    </div>
  );
}

interface EditorProps extends JobProps {
  readonly onClose: () => void;
}

const textOrNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());
const wordsOf = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter(word => word !== ''))];

function Editor({ job, onClose }: EditorProps) {
  const t = useRunT();
  const { client } = usePanel();
  const id = useId();
  const [name, setName] = useState(job.name ?? '');
  const [group, setGroup] = useState(job.group ?? '');
  const [tags, setTags] = useState(job.tags.join(' '));
  const [notes, setNotes] = useState(job.notes ?? '');
  const [failure, setFailure] = useState<string | null>(null);
  const save = async (): Promise<void> => {
    const body: JobEdit = {
      name: textOrNull(name),
      group: textOrNull(group),
      tags: wordsOf(tags),
      notes: textOrNull(notes),
    };
    const answer = await client.call(runsApi.edit, { params: { id: job.id }, body });
    if (answer.ok) onClose();
    else setFailure(detailOf(answer.failure) ?? t('error.unreachable'));
  };
  return (
    <form
      className="card job-about-form"
      aria-label={t('runs.about')}
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
    >
      <label htmlFor={`${id}-name`}>{t('runs.edit.name')}</label>
      <input
        id={`${id}-name`}
        value={name}
        maxLength={120}
        placeholder={job.config_name}
        autoFocus
        onChange={({ target }) => setName(target.value)}
      />
      <label htmlFor={`${id}-group`}>{t('runs.edit.group')}</label>
      <input
        id={`${id}-group`}
        value={group}
        maxLength={100}
        onChange={({ target }) => setGroup(target.value)}
      />
      <label htmlFor={`${id}-tags`}>{t('runs.edit.tags')}</label>
      <input
        id={`${id}-tags`}
        value={tags}
        maxLength={700}
        placeholder={t('runs.edit.tags.hint')}
        onChange={({ target }) => setTags(target.value)}
      />
      <label htmlFor={`${id}-notes`}>{t('runs.edit.notes')}</label>
      <textarea
        id={`${id}-notes`}
        value={notes}
        rows={4}
        maxLength={10_000}
        onChange={({ target }) => setNotes(target.value)}
      />
      {failure !== null && (
        <p className="trouble" role="alert">
          {failure}
        </p>
      )}
      <div className="job-about-acts">
        <Button kind="primary" type="submit">
          {t('runs.edit.save')}
        </Button>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
      </div>
    </form>
  );
}
