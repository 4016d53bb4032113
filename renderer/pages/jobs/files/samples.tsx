import { type ReactNode, useId, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { useMay } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { Icon } from '../../../ui/icon.tsx';
import { sizeText } from '../figures.ts';
import { groupsOf, maxThumbnailBytes, type Sample, type SampleGroup } from './sorting.ts';
import type { DeletionProps } from './deletion.tsx';
import { Viewer } from './viewer.tsx';
import { PicturesProvider, usePictures, useNear, usePicture } from './pictures.ts';
import { Delete, Download } from './table.tsx';

interface SamplesProps extends DeletionProps {
  readonly job: JobDetail;
  readonly samples: readonly Sample[];
}

/** The sample images and videos of a training. */
export function Samples({ job, samples, ...deletion }: SamplesProps) {
  const t = useT();
  const pictures = usePictures();
  const groups = useMemo(() => groupsOf(samples), [samples]);
  const inOrder = useMemo(() => groups.flatMap(group => group.samples), [groups]);
  const [open, setOpen] = useState<string | null>(null);
  const shown = inOrder.find(({ file }) => file.key === open);
  return (
    <section className="card" aria-labelledby="files-samples">
      <div className="files-head">
        <h2 id="files-samples">{t('files.samples')}</h2>
        <Link href={`/gallery?jobs=${job.id}`}>{t('files.samples.gallery')}</Link>
      </div>
      <PicturesProvider value={pictures}>
        {groups.map(group => (
          <Group key={group.id} group={group} onOpen={setOpen} />
        ))}
        {shown !== undefined && (
          <Viewer sample={shown} samples={inOrder} onShow={setOpen} onClose={() => setOpen(null)}>
            <Download file={shown.file} />
            <Delete
              target={{ kind: 'file', file: shown.file }}
              name={shown.file.key}
              busy={deletion.busy}
              onDelete={target => {
                setOpen(null);
                deletion.onDelete(target);
              }}
            />
          </Viewer>
        )}
      </PicturesProvider>
    </section>
  );
}

interface GroupProps {
  readonly group: SampleGroup;
  readonly onOpen: (key: string) => void;
}

function Group({ group, onOpen }: GroupProps) {
  const t = useT();
  const titleId = useId();
  return (
    <div className="sample-group">
      <h3 id={titleId} className={group.at === null && group.folder !== '' ? 'mono' : undefined}>
        {groupTitle(group, t)}
      </h3>
      <ul className="sample-grid" aria-labelledby={titleId}>
        {group.samples.map(sample => (
          <li key={sample.file.key}>
            <Tile sample={sample} onOpen={() => onOpen(sample.file.key)} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns the step or epoch of a group of samples, or else its folder. */
export function groupTitle({ at, folder }: Pick<SampleGroup, 'at' | 'folder'>, t: Translator): string {
  if (at !== null) return t(`files.at.${at.unit}`, { count: at.count });
  return folder === '' ? t('files.samples.rest') : folder;
}

interface TileProps {
  readonly sample: Sample;
  readonly onOpen: () => void;
  /** Replaces the file name below the preview. */
  readonly children?: ReactNode;
}

/** A button with a preview. The button has its final size before the image has loaded, so that nothing moves. */
export function Tile({ sample, onOpen, children }: TileProps) {
  const t = useT();
  const { frameRef, isNear } = useNear();
  const { file, name } = sample;
  const canSee = useMay()(artifactsApi.download);
  const isDrawn = canSee && isNear && sample.kind === 'picture' && file.bytes <= maxThumbnailBytes;
  const size = sizeText(file.bytes, t.language);
  return (
    <button type="button" className="sample" title={file.key} onClick={onOpen}>
      <span className="unseen">{t('files.sample.open', { name, size })}</span>
      <span className="sample-frame" ref={frameRef}>
        {isDrawn ? <Thumbnail key={file.sha256} sample={sample} /> : <Placeholder sample={sample} />}
      </span>
      <span className="sample-caption" aria-hidden="true">
        {children ?? <span className="sample-name mono">{name}</span>}
      </span>
    </button>
  );
}

function Thumbnail({ sample }: { readonly sample: Sample }) {
  const t = useT();
  const shown = usePicture(sample);
  const [isBroken, setBroken] = useState(false);
  if (shown.state === 'failed' || isBroken) return <span className="muted">{t('files.sample.broken')}</span>;
  if (shown.state === 'waiting') return null;
  // The button already has a label, so the image needs none.
  return <img src={shown.url} alt="" loading="lazy" decoding="async" onError={() => setBroken(true)} />;
}

/** Fills the frame when no thumbnail is drawn: empty for an image, otherwise the kind of the file. */
function Placeholder({ sample: { kind } }: { readonly sample: Sample }) {
  const t = useT();
  if (kind === 'picture') return null;
  return (
    <span className="sample-film muted">
      {kind === 'film' && <Icon name="running" />}
      {kind === 'film' ? t('files.film') : t('files.sample.foreign')}
    </span>
  );
}
