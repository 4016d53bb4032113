import { Link } from 'wouter';
import type { JobDetail } from '../../../../protocol/job.ts';
import type { JobInput } from '../../../../protocol/job-inputs.ts';
import { JobLink } from '../../../app/links.tsx';
import { sizeText } from '../figures.ts';
import { InputTexts, useInputT } from './texts.tsx';
import './inputs.css';

/** Lists the files that a job uses from other jobs, with links to these files. */
export const JobInputs = ({ job }: { readonly job: Pick<JobDetail, 'inputs' | 'wait'> }) => (
  <InputTexts>
    <InputsCard job={job} />
  </InputTexts>
);

function InputsCard({ job: { inputs, wait } }: { readonly job: Pick<JobDetail, 'inputs' | 'wait'> }) {
  const t = useInputT();
  const missing = wait?.code === 'after' && wait.params['files'] === 'missing' ? wait.params['input'] : null;
  return (
    <section className="card" aria-labelledby="job-inputs">
      <h2 id="job-inputs">{t('inputs.title')}</h2>
      <ul className="plain-list job-inputs">
        {inputs.map(input => (
          <li key={input.name}>
            <Input input={input} isMissing={input.name === missing} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface InputProps {
  readonly input: JobInput;
  /** True if the job waits because the other job has ended without this file. */
  readonly isMissing: boolean;
}

function Input({ input: { name, job_id: id, job_name: job, file, source }, isMissing }: InputProps) {
  const t = useInputT();
  const from = source?.job_id ?? id;
  return (
    <>
      <span className="job-input-source">
        {job === null ? (
          <span className="muted">{t('inputs.gone')}</span>
        ) : (
          <JobLink id={from}>
            <span translate="no">{job}</span>
          </JobLink>
        )}
        <span aria-hidden="true">→</span>
        <code>{name}</code>
        <span className="muted">{fileText(file, t)}</span>
      </span>
      {source === null ? (
        <span className={isMissing ? 'trouble' : 'muted'}>
          {t(isMissing ? 'inputs.missing' : 'inputs.pending')}
        </span>
      ) : (
        <span className="job-input-file">
          {job === null ? (
            <span className="mono">{source.key}</span>
          ) : (
            <Link className="mono" href={`/jobs/${from}?tab=files`}>
              {source.key}
            </Link>
          )}
          <span className="muted">
            {t('inputs.count', { count: source.files, size: sizeText(source.bytes, t.language) })}
          </span>
        </span>
      )}
    </>
  );
}

/** Translates a file specification, such as `checkpoint best`. Returns any other text, such as a file name, unchanged. */
function fileText(file: string, t: ReturnType<typeof useInputT>): string {
  if (file === 'result') return t('inputs.result');
  if (file === 'checkpoint best') return t('inputs.best');
  if (file === 'checkpoint newest') return t('inputs.newest');
  if (file === 'state newest') return t('inputs.stateNewest');
  if (file === 'state best') return t('inputs.stateBest');
  const [, step] = /^checkpoint (\d+)$/.exec(file) ?? [];
  return step === undefined ? file : t('inputs.step', { step });
}
