import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { useMay } from '../../../app/context.ts';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Time } from '../../../ui/time.tsx';
import { sizeText } from '../figures.ts';
import { comparable, type Sample } from './sorting.ts';
import { usePicture } from './pictures.ts';

interface ViewerProps {
  readonly sample: Sample;
  /** All samples, in the order of navigation. */
  readonly samples: readonly Sample[];
  readonly onShow: (key: string) => void;
  readonly onClose: () => void;
  /** Buttons for the shown sample. */
  readonly children: ReactNode;
}

/** Maximum size of a file to show, because the browser keeps the whole file in memory. */
const maxBytes = 256_000_000;

/** Shows one sample at full size, optionally next to the same prompt at another step. */
export function Viewer({ sample, samples, onShow, onClose, children }: ViewerProps) {
  const t = useT();
  const index = samples.indexOf(sample);
  const previous = samples[index - 1];
  const next = samples[index + 1];
  const show = (target: Sample | undefined) => (): void => {
    if (target !== undefined) onShow(target.file.key);
  };
  const others = useMemo(() => comparable(sample, samples), [sample, samples]);
  /**
   * Step or epoch of the compared sample. It stays the same when the user moves to another prompt, so that the viewer
   * then compares with the sample of that prompt.
   */
  const [comparedAt, setComparedAt] = useState<number | null>(null);
  const compared = others.find(({ at }) => at?.count === comparedAt);
  const { file } = sample;
  useArrows(show(previous), show(next));
  return (
    <Dialog title={t('files.sample.title', { name: sample.name })} onClose={onClose} size="wide">
      <div className="viewer-stage">
        <SampleFigure key={`${file.key} ${file.sha256}`} sample={sample} />
        {compared !== undefined && (
          <SampleFigure key={`${compared.file.key} ${compared.file.sha256}`} sample={compared} />
        )}
      </div>
      <p className="viewer-facts muted">
        <span className="mono">{file.key}</span>
        <span>{sizeText(file.bytes, t.language)}</span>
        <span>{t('jobs.attempt.title', { attempt: file.attempt })}</span>
        <Time at={file.created_at} />
      </p>
      <footer className="viewer-foot">
        <span className="files-acts">
          <Button disabled={previous === undefined} onClick={show(previous)}>
            {t('files.previous')}
          </Button>
          <span role="status">{t('files.place', { place: index + 1, of: samples.length })}</span>
          <Button disabled={next === undefined} onClick={show(next)}>
            {t('files.next')}
          </Button>
        </span>
        {others.length > 0 && (
          <label className="viewer-compare">
            {t('files.compare')}
            <select
              value={compared === undefined ? '' : String(comparedAt)}
              onChange={({ target }) => setComparedAt(target.value === '' ? null : Number(target.value))}
            >
              <option value="">{t('files.compare.none')}</option>
              {others.map(({ at, file: { key } }) => (
                <option key={key} value={at?.count}>
                  {at === null ? key : t(`files.at.${at.unit}`, { count: at.count })}
                </option>
              ))}
            </select>
          </label>
        )}
        <span className="files-acts">{children}</span>
      </footer>
    </Dialog>
  );
}

function SampleFigure({ sample }: { readonly sample: Sample }) {
  const t = useT();
  const canSee = useMay()(artifactsApi.download);
  const { at, kind, name, file } = sample;
  const caption = at === null ? name : t(`files.at.${at.unit}`, { count: at.count });
  return (
    <figure className="viewer-shot">
      <div className="viewer-frame">
        {!canSee && <p className="muted">{t('files.mayNot', { what: t('tokens.may.queue.submit') })}</p>}
        {canSee && kind === null && <p className="muted">{t('files.sample.foreign')}</p>}
        {canSee && kind !== null && file.bytes > maxBytes && (
          <p className="muted">{t('files.sample.large')}</p>
        )}
        {canSee && kind !== null && file.bytes <= maxBytes && <Media sample={sample} />}
      </div>
      <figcaption className={at === null ? 'mono' : undefined}>{caption}</figcaption>
    </figure>
  );
}

function Media({ sample }: { readonly sample: Sample }) {
  const t = useT();
  const shown = usePicture(sample);
  const [isBroken, setBroken] = useState(false);
  if (shown.state === 'failed' || isBroken) return <p className="muted">{t('files.sample.broken')}</p>;
  if (shown.state === 'waiting') return <p className="muted">{t('files.sample.coming')}</p>;
  if (sample.kind === 'picture')
    return <img src={shown.url} alt={sample.name} translate="no" onError={() => setBroken(true)} />;
  return (
    // Trainers' videos have no speech, so there are no captions.
    <video
      src={shown.url}
      controls
      loop
      muted
      playsInline
      preload="metadata"
      aria-label={sample.name}
      translate="no"
      onError={() => setBroken(true)}
    />
  );
}

/** Calls a function for the left and right arrow keys, unless the focused element uses these keys itself. */
function useArrows(onLeft: () => void, onRight: () => void): void {
  useEffect(() => {
    const onKeyDown = ({ key, target, altKey, ctrlKey, metaKey }: KeyboardEvent): void => {
      if (altKey || ctrlKey || metaKey) return;
      if (target instanceof HTMLElement && target.matches('input, select, textarea, video')) return;
      if (key === 'ArrowLeft') onLeft();
      if (key === 'ArrowRight') onRight();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  });
}
