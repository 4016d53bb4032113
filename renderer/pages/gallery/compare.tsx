import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { useMay } from '../../app/context.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { LoadFailure } from '../data/use-datasets.tsx';
import type { GalleryView, ViewProps } from './address.ts';
import { Comparison, ComparisonEnd } from './comparison-view.tsx';
import { useSamples } from './reads.ts';
import { useGalleryT } from './texts.tsx';
import { useComparison } from './use-comparison.ts';

/** Compares the samples of up to four jobs: a column per job, a row per prompt, and one step for all of them. */
export function Compare({ view, onShow }: ViewProps) {
  const t = useGalleryT();
  const canSee = useMay()(artifactsApi.download);
  const { jobs } = view;
  const read = useSamples(jobs);
  const { samples, isLoaded, failure, reload } = read;
  const shown = useComparison({ view, onShow }, samples);
  const { positions, unplaced } = shown;
  const show = (part: Partial<GalleryView>): void => onShow({ ...shown.view, open: null, ...part }, false);
  const remove = (job: JobId): void => {
    const left = jobs.filter(each => each !== job);
    show({ jobs: left, isChoosing: left.length === 0 });
  };
  return (
    <div className="page gallery-page" aria-busy={!isLoaded && failure === null}>
      <div className="page-head">
        <h1>{t('gallery.compare')}</h1>
        <span className="files-acts">
          <Button onClick={() => show({ isChoosing: true })}>{t('gallery.change')}</Button>
          <Button onClick={() => show({ jobs: [] })}>{t('gallery.back')}</Button>
        </span>
      </div>
      <LoadFailure failure={failure} onRetry={reload} />
      {!canSee && <p className="muted">{t('files.mayNot', { what: t('tokens.may.queue.submit') })}</p>}
      {isLoaded && positions.length === 0 && (
        <Empty why={t(samples.length === 0 ? 'gallery.none.ofJobs' : 'gallery.none.placed')} />
      )}
      {positions.length > 0 && (
        <>
          <Comparison {...{ jobs, read, shown }} onRemove={remove} />
          {unplaced > 0 && <p className="muted">{t('gallery.unplaced', { count: unplaced })}</p>}
        </>
      )}
      <ComparisonEnd {...{ read, shown }} />
    </div>
  );
}
