import { shownName } from '../../../protocol/job-about.ts';
import type { SampleView } from '../../../protocol/artifacts-api.ts';
import { createPageTexts } from '../../app/page-texts.tsx';
import { gallery, type GalleryKey } from '../../i18n/en/gallery.ts';
import type { PageTranslator } from '../../i18n/page-texts.ts';
import type { GallerySample } from './model.ts';

type GalleryTranslator = PageTranslator<GalleryKey>;

export const { Texts: GalleryTexts, useTexts: useGalleryT } = createPageTexts<GalleryKey>(gallery, {
  es: async () => (await import('../../i18n/es/gallery.ts')).gallery,
  zh: async () => (await import('../../i18n/zh/gallery.ts')).gallery,
  hi: async () => (await import('../../i18n/hi/gallery.ts')).gallery,
  ja: async () => (await import('../../i18n/ja/gallery.ts')).gallery,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(gallery),
});

/** Names the prompt of a sample by its text, or by its number. */
export function promptText({ prompt, prompt_index: index }: SampleView, t: GalleryTranslator): string {
  if (prompt !== null) return prompt;
  return index === null ? t('gallery.prompt.none') : t('gallery.prompt', { number: index + 1 });
}

/** Returns the step or epoch of a sample as text, or its file name when the sample has neither. */
export const positionText = ({ at, name }: GallerySample, t: GalleryTranslator): string =>
  at === null ? name : t(`files.at.${at.unit}`, { count: at.count });

/** Describes a sample for screen readers: job, prompt and step. */
export const sampleText = (sample: GallerySample, t: GalleryTranslator): string =>
  t('gallery.sample', {
    job: shownName(sample.view),
    prompt: promptText(sample.view, t),
    place: positionText(sample, t),
  });
