import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { shownName } from '../../../../protocol/job-about.ts';
import type { ArtifactView } from '../../../../protocol/artifact.ts';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { useNow } from '../../../ui/time.tsx';
import { PicturesProvider, usePictures, useNear, usePicture } from '../../jobs/files/pictures.ts';
import { newestPicture, type Sample } from '../../jobs/files/sorting.ts';

/** Interval between reads. Workers upload a new sample every few minutes at most. */
const readEveryMs = 60_000;
/** Number of newest files to search. If the newest sample is older than all of them, no sample is shown. */
const newestFiles = { limit: 100 };

/** The newest sample image of a running job, as a link to its files. Renders nothing when there is none. */
export function NewestSample({ job }: { readonly job: JobView }) {
  const may = usePanel().may;
  if (!may(artifactsApi.list, job) || !may(artifactsApi.download, job)) return null;
  return <Newest key={job.id} job={job} />;
}

function Newest({ job }: { readonly job: JobView }) {
  const { frameRef, isNear } = useNear();
  const pictures = usePictures();
  const sample = useNewest(job, isNear);
  return (
    <span ref={frameRef} className="rig-sample">
      <PicturesProvider value={pictures}>
        {sample !== null && isNear && <Picture sample={sample} job={job} />}
      </PicturesProvider>
    </span>
  );
}

/** Reads the files of the job every minute while the card is near the viewport. */
function useNewest({ id }: JobView, isNear: boolean): Sample | null {
  const { client } = usePanel();
  const minute = useNow(readEveryMs);
  const [files, setFiles] = useState<readonly ArtifactView[]>([]);
  useEffect(() => {
    if (!isNear) return undefined;
    const controller = new AbortController();
    const input = { params: { id }, query: newestFiles, signal: controller.signal };
    void client.call(artifactsApi.list, input).then(answer => {
      if (answer.ok && !controller.signal.aborted) setFiles(answer.value.artifacts);
    });
    return () => controller.abort();
  }, [client, id, isNear, minute]);
  return newestPicture(files);
}

function Picture({ sample, job }: { readonly sample: Sample; readonly job: JobView }) {
  const t = useT();
  const shown = usePicture(sample);
  const [isBroken, setBroken] = useState(false);
  if (shown.state !== 'there' || isBroken) return null;
  return (
    <Link href={`/jobs/${job.id}?tab=files`}>
      <img
        src={shown.url}
        alt={t('fleet.sample', { job: shownName(job) })}
        title={sample.name}
        onError={() => setBroken(true)}
      />
    </Link>
  );
}
