import { useSearchParams } from 'wouter';
import '../jobs/jobs.css';
import '../jobs/files/files.css';
import './gallery.css';
import { PicturesProvider, usePictures } from '../jobs/files/pictures.ts';
import { type GalleryView, readView, writeView } from './address.ts';
import { Compare } from './compare.tsx';
import { GalleryTexts } from './texts.tsx';
import { Wall } from './wall.tsx';

/** Shows the samples of all jobs, or compares those of up to four jobs by prompt and step. */
export function GalleryPage() {
  const [params, setParams] = useSearchParams();
  const pictures = usePictures();
  const view = readView(params);
  const show = (next: GalleryView, isReplacing: boolean): void =>
    setParams(writeView(next), { replace: isReplacing });
  return (
    <GalleryTexts>
      <PicturesProvider value={pictures}>
        {view.isChoosing ? (
          <Wall view={view} onShow={show} />
        ) : (
          <Compare key={view.jobs.join(',')} view={view} onShow={show} />
        )}
      </PicturesProvider>
    </GalleryTexts>
  );
}
