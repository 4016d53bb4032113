import { useEffect, useRef, useState } from 'react';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { useMay } from '../../app/context.ts';
import { Icon } from '../../ui/icon.tsx';
import { usePicture } from '../jobs/files/pictures.ts';
import { maxThumbnailBytes } from '../jobs/files/sorting.ts';
import type { GallerySample } from './model.ts';
import { sampleText, useGalleryT } from './texts.tsx';

/** Larger files are only offered for download, because the browser keeps the whole file in memory. */
const maxBytes = 256_000_000;
/** Delay before a thumbnail loads, so that thumbnails that only scroll past do not load. */
const loadDelayMs = 120;

interface PictureProps {
  readonly sample: GallerySample;
}

/** A preview without alternative text, because the tile has a label. Videos show an icon; large images show nothing. */
export function Thumbnail({ sample }: PictureProps) {
  const t = useGalleryT();
  const canSee = useMay()(artifactsApi.download);
  const isSettled = useSettled();
  const { kind, view } = sample;
  if (kind === null) return <span className="gallery-note muted">{t('files.sample.foreign')}</span>;
  if (kind === 'film')
    return (
      <span className="gallery-note muted">
        <Icon name="running" />
        {t('files.film')}
      </span>
    );
  if (!canSee || !isSettled || view.bytes > maxThumbnailBytes) return null;
  return <LoadedImage key={`${view.key} ${view.sha256}`} sample={sample} alt="" />;
}

function useSettled(): boolean {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), loadDelayMs);
    return () => clearTimeout(timer);
  }, []);
  return isSettled;
}

interface LoadedProps extends PictureProps {
  readonly alt: string;
}

function LoadedImage({ sample, alt }: LoadedProps) {
  const t = useGalleryT();
  const shown = usePicture(sample);
  const [isBroken, setBroken] = useState(false);
  if (shown.state === 'failed' || isBroken)
    return <span className="gallery-note muted">{t('files.sample.broken')}</span>;
  if (shown.state === 'waiting') return null;
  return <img src={shown.url} alt={alt} loading="lazy" decoding="async" onError={() => setBroken(true)} />;
}

/**
 * The image or video in a cell whose step changes. The previous image stays until the next one has loaded, so that the
 * cell does not flash while the user moves the slider.
 */
export function SteppedPicture({ sample }: PictureProps) {
  const t = useGalleryT();
  const canSee = useMay()(artifactsApi.download);
  const shown = usePicture(sample);
  const [broken, setBroken] = useState<string | null>(null);
  const last = useRef<string | null>(null);
  const { kind, view } = sample;
  if (shown.state === 'there' && kind === 'picture') last.current = shown.url;
  if (!canSee)
    return <p className="gallery-note muted">{t('files.mayNot', { what: t('tokens.may.queue.submit') })}</p>;
  if (kind === null) return <p className="gallery-note muted">{t('files.sample.foreign')}</p>;
  if (view.bytes > maxBytes) return <p className="gallery-note muted">{t('files.sample.large')}</p>;
  if (shown.state === 'failed' || broken === view.sha256)
    return <p className="gallery-note muted">{t('files.sample.broken')}</p>;
  const url = shown.state === 'there' ? shown.url : last.current;
  const text = sampleText(sample, t);
  if (kind === 'film')
    return shown.state === 'there' ? (
      // Trainers' videos have no speech, so there are no captions.
      <video
        key={shown.url}
        src={shown.url}
        controls
        loop
        muted
        playsInline
        preload="metadata"
        aria-label={text}
        onError={() => setBroken(view.sha256)}
      />
    ) : null;
  if (url === null) return <p className="gallery-note muted">{t('files.sample.coming')}</p>;
  return (
    <img
      src={url}
      alt={text}
      decoding="async"
      data-waiting={shown.state === 'waiting'}
      onError={() => setBroken(view.sha256)}
    />
  );
}
