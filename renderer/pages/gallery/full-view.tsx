import { shownName } from '../../../protocol/job-about.ts';
import { useMemo } from 'react';
import { JobLink } from '../../app/links.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/time.tsx';
import { sizeText } from '../jobs/figures.ts';
import { Download } from '../jobs/files/table.tsx';
import { useKeys } from './keys.ts';
import { type GallerySample, neighboursOf } from './model.ts';
import { SteppedPicture } from './picture.tsx';
import { sampleText, useGalleryT } from './texts.tsx';

interface FullViewProps {
  readonly sample: GallerySample;
  /** Samples that the arrow keys can reach. */
  readonly samples: readonly GallerySample[];
  readonly onShow: (sample: GallerySample) => void;
  readonly onClose: () => void;
}

/** Shows one sample in the whole window. Arrow keys move through the steps and the prompts of its job. */
export function FullView({ sample, samples, onShow, onClose }: FullViewProps) {
  const t = useGalleryT();
  const { before, after, above, below } = useMemo(() => neighboursOf(sample, samples), [sample, samples]);
  const to = (target: GallerySample | null) => (): void => {
    if (target !== null) onShow(target);
  };
  useKeys(
    { ArrowLeft: to(before), ArrowRight: to(after), ArrowUp: to(above), ArrowDown: to(below), f: onClose },
    true,
  );
  const { view } = sample;
  return (
    <Dialog title={sampleText(sample, t)} onClose={onClose} size="full">
      <div className="gallery-stage">
        <SteppedPicture sample={sample} />
      </div>
      <footer className="gallery-full-foot">
        <span className="files-acts">
          <Button disabled={before === null} onClick={to(before)}>
            {t('gallery.previousStep')}
          </Button>
          <Button disabled={after === null} onClick={to(after)}>
            {t('gallery.nextStep')}
          </Button>
          <Button disabled={above === null} onClick={to(above)}>
            {t('gallery.previousPrompt')}
          </Button>
          <Button disabled={below === null} onClick={to(below)}>
            {t('gallery.nextPrompt')}
          </Button>
        </span>
        <span className="files-acts">
          <JobLink id={view.job_id}>{shownName(view)}</JobLink>
          <span className="muted">{sizeText(view.bytes, t.language)}</span>
          <Time at={view.created_at} />
          <Download file={view} />
        </span>
        <span className="muted gallery-keys">{t('gallery.full.keys')}</span>
      </footer>
    </Dialog>
  );
}
