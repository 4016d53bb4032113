import { useEffect, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import type { ArtifactView } from '../../../../protocol/artifact.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { useReads } from '../details/job-reads.ts';
import './files.css';
import { PicturesProvider, usePictures } from './pictures.ts';
import { groupTitle, Tile } from './samples.tsx';
import { groupsOf, promptName, type Sample, sortFiles } from './sorting.ts';
import { Download } from './table.tsx';
import { Viewer } from './viewer.tsx';

/** Number of files to search for samples. The list of files also contains checkpoints and models. */
const searchedFiles = 200;
const shownSamples = 8;

/** The newest samples of a training in one row. Renders nothing while there are none. */
export function NewestSamples({ job }: { readonly job: JobDetail }) {
  const t = useT();
  const pictures = usePictures();
  const samples = useSamples(job);
  const [open, setOpen] = useState<string | null>(null);
  const shown = samples.find(({ file }) => file.key === open);
  if (samples.length === 0) return null;
  return (
    <section className="card" aria-labelledby="job-samples">
      <div className="glance-head">
        <h2 id="job-samples">{t('jobs.glance.samples')}</h2>
        <Link className="glance-more" href={`/jobs/${job.id}?tab=files`}>
          {t('jobs.glance.files')}
        </Link>
      </div>
      <PicturesProvider value={pictures}>
        <ul className="sample-strip" aria-labelledby="job-samples">
          {samples.slice(0, shownSamples).map(sample => (
            <li key={sample.file.key}>
              <Tile sample={sample} onOpen={() => setOpen(sample.file.key)}>
                <Caption sample={sample} />
              </Tile>
            </li>
          ))}
        </ul>
        {shown !== undefined && (
          <Viewer sample={shown} samples={samples} onShow={setOpen} onClose={() => setOpen(null)}>
            <Download file={shown.file} />
          </Viewer>
        )}
      </PicturesProvider>
    </section>
  );
}

/** The step of a sample and its prompt, or its file name when the name contains no prompt. */
function Caption({ sample }: { readonly sample: Sample }) {
  const t = useT();
  const prompt = promptName(sample);
  return (
    <>
      {sample.at !== null && (
        <span className="sample-step">{groupTitle({ at: sample.at, folder: '' }, t)}</span>
      )}
      <span className={prompt === null ? 'sample-name mono' : 'sample-name'} translate="no">
        {prompt ?? sample.name}
      </span>
    </>
  );
}

/** Reads the samples, newest step first, and reads them again after events of the job. */
function useSamples(job: JobDetail): readonly Sample[] {
  const { client } = usePanel();
  const [files, setFiles] = useState<readonly ArtifactView[]>([]);
  const { reads } = useReads(job);
  const { id } = job;
  useEffect(() => {
    const controller = new AbortController();
    const input = { params: { id }, query: { limit: searchedFiles }, signal: controller.signal };
    void client.call(artifactsApi.list, input).then(answer => {
      // After a failure, keep the shown samples. The files tab reports the failure.
      if (answer.ok && !controller.signal.aborted) setFiles(answer.value.artifacts);
    });
    return () => controller.abort();
  }, [client, id, reads]);
  return useMemo(() => groupsOf(sortFiles(files, []).samples).flatMap(({ samples }) => samples), [files]);
}
