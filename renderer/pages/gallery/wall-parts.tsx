import { memo } from 'react';
import type { JobId } from '../../../protocol/ids.ts';
import { JobLink } from '../../app/links.tsx';
import { ShortName } from '../../ui/short-name.tsx';
import { Time } from '../../ui/time.tsx';
import { BestChip } from '../jobs/best-chip.tsx';
import type { GallerySample, JobGroup } from './model.ts';
import { Thumbnail } from './picture.tsx';
import { positionText, promptText, sampleText, useGalleryT } from './texts.tsx';
import { tileGap } from './wall-rows.ts';

interface JobHeadProps {
  readonly group: JobGroup;
  readonly isChosen: boolean;
  /** True if no further job can be chosen. */
  readonly isFull: boolean;
  readonly onToggle: (job: JobId) => void;
}

export function JobHead({ group: { job, name, samples }, isChosen, isFull, onToggle }: JobHeadProps) {
  const t = useGalleryT();
  const newest = samples[0]?.view.created_at;
  return (
    <div className="gallery-job">
      <input
        type="checkbox"
        aria-label={t('gallery.choose', { job: name })}
        checked={isChosen}
        disabled={isFull}
        onChange={() => onToggle(job)}
      />
      <h2 translate="no">
        <JobLink id={job} title={name} label={name}>
          <ShortName name={name} />
        </JobLink>
      </h2>
      <BestChip id={job} />
      <span className="muted">{t('gallery.count', { count: samples.length })}</span>
      {newest !== undefined && (
        <span className="muted">
          <Time at={newest} />
        </span>
      )}
    </div>
  );
}

interface TilesProps {
  readonly row: number;
  readonly samples: readonly GallerySample[];
  readonly columns: number;
  readonly onOpen: (sample: GallerySample) => void;
}

/** One row of tiles. The component is memoized, because scrolling renders the wall often. */
export const Tiles = memo(function Tiles({ row, samples, columns, onOpen }: TilesProps) {
  const t = useGalleryT();
  return (
    <div
      className="gallery-tiles"
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gap: tileGap }}
    >
      {samples.map((sample, column) => (
        <button
          key={sample.view.order}
          type="button"
          className="gallery-tile"
          data-tile={`${row} ${column}`}
          title={sample.view.key}
          onClick={() => onOpen(sample)}
        >
          <span className="unseen">{sampleText(sample, t)}</span>
          <span className="gallery-frame">
            <Thumbnail sample={sample} />
          </span>
          <span className="gallery-name" aria-hidden="true">
            {positionText(sample, t)}
            {sample.at !== null && <span className="muted"> {promptText(sample.view, t)}</span>}
          </span>
        </button>
      ))}
    </div>
  );
});
