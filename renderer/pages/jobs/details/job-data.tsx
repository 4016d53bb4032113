import type { JobDataView, JobDetail } from '../../../../protocol/job.ts';
import { DatasetLink } from '../../../app/links.tsx';
import { useT } from '../../../i18n/index.ts';
import { sizeText } from '../figures.ts';
import { useDataPlaces } from './use-data-places.ts';

/** The datasets that the worker downloads for the job. Renders nothing for a job without data. */
export const JobData = ({ job }: { readonly job: JobDetail }) => job.data.length > 0 && <DataOf job={job} />;

function DataOf({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const placesOf = useDataPlaces(job);
  return (
    <section className="card" aria-labelledby="job-data">
      <h2 id="job-data">{t('jobs.detail.data')}</h2>
      <ul className="plain-list job-data">
        {job.data.map(each => (
          <li key={each.path}>
            <Source data={each} places={placesOf(each)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface SourceProps {
  readonly data: JobDataView;
  /** Text that names the rigs with this version; null while the rigs are unknown. */
  readonly places: string | null;
}

function Source({ data: { path, version, files, bytes, dataset }, places }: SourceProps) {
  const t = useT();
  return (
    <>
      <span className="job-data-facts">
        {dataset === null ? (
          <span className="muted">{t('jobs.data.gone')}</span>
        ) : (
          <DatasetLink id={String(dataset.id)}>
            <span translate="no">{dataset.name}</span>
          </DatasetLink>
        )}
        <code className="mono" title={version}>
          {version.slice(0, 12)}
        </code>
        <span>{t('data.filesAndSize', { count: files, size: sizeText(bytes, t.language) })}</span>
      </span>
      {places !== null && <span>{places}</span>}
      <span className="mono muted">{path}</span>
    </>
  );
}
