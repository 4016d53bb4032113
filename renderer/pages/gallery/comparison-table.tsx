import { shownName } from '../../../protocol/job-about.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { JobLink } from '../../app/links.tsx';
import { Button } from '../../ui/button.tsx';
import { useNear } from '../jobs/files/pictures.ts';
import { type GallerySample, type PromptRow, sampleAt } from './model.ts';
import { SteppedPicture } from './picture.tsx';
import { positionText, promptText, sampleText, useGalleryT } from './texts.tsx';

interface ComparisonTableProps {
  readonly jobs: readonly JobId[];
  readonly samples: readonly GallerySample[];
  /** Fallback names for jobs without samples. */
  readonly names?: ReadonlyMap<JobId, string>;
  readonly rows: readonly PromptRow[];
  readonly position: number;
  readonly onOpen: (job: JobId, prompt: string) => void;
  /** Removes a job from the comparison. If absent, the table has no remove buttons. */
  readonly onRemove?: (job: JobId) => void;
  /** Called when a sample gets the focus. */
  readonly onFocus: (job: JobId, prompt: string) => void;
}

/** A column per job and two rows per prompt: its text, which needs the full width on a phone, and its samples. */
export function ComparisonTable(props: ComparisonTableProps) {
  const { jobs, samples, names, rows, position, onOpen, onRemove, onFocus } = props;
  const t = useGalleryT();
  const nameOf = (job: JobId): string => {
    const sample = samples.find(({ view }) => view.job_id === job);
    return sample === undefined ? (names?.get(job) ?? job) : shownName(sample.view);
  };
  return (
    <div className="gallery-scroll">
      <table className="gallery-comparison" data-jobs={jobs.length} aria-label={t('gallery.comparison')}>
        <thead>
          <tr>
            {jobs.map(job => (
              <th key={job} scope="col">
                <span className="gallery-column">
                  <span translate="no">
                    <JobLink id={job} title={job}>
                      {nameOf(job)}
                    </JobLink>
                  </span>
                  {onRemove !== undefined && (
                    <Button
                      kind="quiet"
                      aria-label={t('gallery.remove', { job: nameOf(job) })}
                      onClick={() => onRemove(job)}
                    >
                      ×
                    </Button>
                  )}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        {rows.map(({ promptKey, first, byJob }) => (
          <tbody key={promptKey}>
            <tr>
              <th scope="rowgroup" colSpan={jobs.length}>
                {promptText(first, t)}
              </th>
            </tr>
            <tr>
              {jobs.map(job => (
                <td key={job}>
                  <Cell
                    sample={sampleAt(byJob.get(job) ?? [], position)}
                    position={position}
                    onOpen={() => onOpen(job, promptKey)}
                    onFocus={() => onFocus(job, promptKey)}
                  />
                </td>
              ))}
            </tr>
          </tbody>
        ))}
      </table>
    </div>
  );
}

interface CellProps {
  readonly sample: GallerySample | null;
  readonly position: number;
  readonly onOpen: () => void;
  readonly onFocus: () => void;
}

/** A sample that opens in full screen. A video has its own controls, so only its caption opens the full view. */
function Cell({ sample, position, onOpen, onFocus }: CellProps) {
  const t = useGalleryT();
  const { frameRef, isNear } = useNear();
  if (sample === null)
    return (
      <span className="gallery-frame" ref={frameRef}>
        <span className="gallery-note muted">{t('gallery.none.before')}</span>
      </span>
    );
  const frame = (
    <span className="gallery-frame" ref={frameRef}>
      {isNear && <SteppedPicture sample={sample} />}
    </span>
  );
  const caption = <span className="gallery-name">{positionText(sample, t)}</span>;
  const isFilm = sample.kind === 'film';
  return (
    <div className="gallery-cell" data-earlier={sample.at !== null && sample.at.count < position}>
      {isFilm && frame}
      <button type="button" aria-label={sampleText(sample, t)} onClick={onOpen} onFocus={onFocus}>
        {!isFilm && frame}
        {caption}
      </button>
    </div>
  );
}
