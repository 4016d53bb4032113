import { createContext, type RefObject, useContext, useEffect, useRef, useState } from 'react';
import { artifactsApi } from '../../../../protocol/artifacts-api.ts';
import { urlOf } from '../../../../protocol/client.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { usePanel } from '../../../app/context.ts';
import { createPictures, type Pictures, type Shown } from './pictures.ts';
import type { Sample } from './sorting.ts';

/** A video may take long over a slow network. */
const patienceMs = 300_000;

export const fileUrl = (baseUrl: string, id: JobId, key: string): URL =>
  urlOf(baseUrl, artifactsApi.download.path, { id, key: key.split('/') });

const PicturesContext = createContext<Pictures | null>(null);
export const PicturesProvider = PicturesContext.Provider;

/** The pictures of one job while its files are shown; null on the first render. */
export function useJobPictures(id: JobId): Pictures | null {
  const { baseUrl } = usePanel();
  const [pictures, setPictures] = useState<Pictures | null>(null);
  useEffect(() => {
    const own = createPictures({
      async read({ key }, signal) {
        const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
        const answer = await fetch(fileUrl(baseUrl, id, key), { redirect: 'error', signal: patience });
        if (!answer.ok) throw new Error(`${key} was answered ${answer.status}`);
        return answer.blob();
      },
      urls: URL,
      atOnce: 4,
      spare: 40,
    });
    setPictures(own);
    return () => own.close();
  }, [baseUrl, id]);
  return pictures;
}

export function usePicture({ file: { key, sha256 }, type }: Sample): Shown {
  const pictures = useContext(PicturesContext);
  const [shown, setShown] = useState<Shown>({ state: 'waiting' });
  useEffect(() => pictures?.hold({ key, sha256, type }, setShown), [pictures, key, sha256, type]);
  return shown;
}

/** Load pictures this far outside the viewport, so that they are ready when scrolled to. */
const margin = '300px';

/** Returns whether an element is visible or nearly so. */
export function useNear(): { readonly place: RefObject<HTMLSpanElement | null>; readonly isNear: boolean } {
  const place = useRef<HTMLSpanElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const watch = new IntersectionObserver(entries => setNear(entries.at(-1)?.isIntersecting === true), {
      rootMargin: margin,
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return { place, isNear };
}
