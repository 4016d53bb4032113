import { useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import { artifactsApi, maxSampleJobs } from '../../../protocol/artifacts-api.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { shownName } from '../../../protocol/job-about.ts';
import { useMay } from '../../app/context.ts';
import { type GalleryView, readView, writeView } from '../gallery/address.ts';
import { Comparison, ComparisonEnd } from '../gallery/comparison-view.tsx';
import '../gallery/gallery.css';
import { type SamplesRead, useSamples } from '../gallery/reads.ts';
import { GalleryTexts } from '../gallery/texts.tsx';
import { useComparison } from '../gallery/use-comparison.ts';
import '../jobs/files/files.css';
import { PicturesProvider, usePictures } from '../jobs/files/pictures.ts';
import type { Run } from './runs.ts';
import { useRunT } from './texts.tsx';

interface RunSamplesProps {
  readonly runs: readonly Run[];
}

/** The samples of the first jobs side by side at one training step, with a row per prompt. Renders nothing without samples. */
export function RunSamples({ runs }: RunSamplesProps) {
  const isAllowed = useMay()(artifactsApi.samples);
  const pictures = usePictures();
  const jobs = runs.slice(0, maxSampleJobs).map(({ job }) => job.id);
  const names = useMemo(() => new Map(runs.map(({ job }) => [job.id, shownName(job)])), [runs]);
  if (!isAllowed || jobs.length === 0) return null;
  return (
    <GalleryTexts>
      <PicturesProvider value={pictures}>
        <Loaded key={jobs.join(',')} jobs={jobs} names={names} isPart={runs.length > jobs.length} />
      </PicturesProvider>
    </GalleryTexts>
  );
}

interface LoadedProps {
  readonly jobs: readonly JobId[];
  readonly names: ReadonlyMap<JobId, string>;
  readonly isPart: boolean;
}

function Loaded(props: LoadedProps) {
  const read = useSamples(props.jobs);
  return read.samples.length === 0 ? null : <Samples {...props} read={read} />;
}

/** The URL parameters that this section writes. */
const ownParams = ['at', 'prompt', 'open'] as const;

function Samples({ jobs, names, isPart, read }: LoadedProps & { readonly read: SamplesRead }) {
  const t = useRunT();
  const [params, setParams] = useSearchParams();
  const jobList = jobs.join(',');
  const view = useMemo((): GalleryView => {
    const paramsWithJobs = new URLSearchParams(params);
    paramsWithJobs.set('jobs', jobList);
    return readView(paramsWithJobs);
  }, [params, jobList]);
  const onShow = (next: GalleryView): void => {
    const written = writeView(next);
    setParams(
      before => {
        const changed = new URLSearchParams(before);
        for (const name of ownParams) {
          const value = written.get(name);
          if (value === null) changed.delete(name);
          else changed.set(name, value);
        }
        return changed;
      },
      { replace: true },
    );
  };
  const shown = useComparison({ view, onShow }, read.samples);
  if (shown.positions.length === 0) return null;
  return (
    <section className="card" aria-labelledby="compare-samples">
      <div className="page-head">
        <h2 id="compare-samples">
          {isPart ? t('runs.firstSamples', { count: jobs.length }) : t('runs.samples')}
        </h2>
        <Link href={`/gallery?${writeView({ ...shown.view, jobs, open: null, isChoosing: false })}`}>
          {t('runs.gallery')}
        </Link>
      </div>
      <Comparison {...{ jobs, names, read, shown }} />
      <ComparisonEnd {...{ read, shown }} />
    </section>
  );
}
