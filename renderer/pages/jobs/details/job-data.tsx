import type { JobDataView, JobDetail } from '../../../../protocol/job.ts';
import { DatasetLink } from '../../../app/links.tsx';
import { useT } from '../../../i18n/index.ts';
import { sizeText } from '../figures.ts';

/** The datasets that the worker downloads for the job; renders nothing without any. */
export function JobData({ job: { data } }: { readonly job: JobDetail }) {
  const t = useT();
  if (data.length === 0) return null;
  return (
    <section className="card" aria-labelledby="job-data">
      <h2 id="job-data">{t('jobs.detail.data')}</h2>
      <ul className="plain-list job-data">
        {data.map(each => (
          <li key={each.path}>
            <Source data={each} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Source({ data: { path, version, files, bytes, dataset } }: { readonly data: JobDataView }) {
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
      <span className="mono muted">{path}</span>
    </>
  );
}
