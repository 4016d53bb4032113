import { type Language, loadLanguage, type Translator } from '../../renderer/i18n/index.ts';
import type { Zone } from '../../renderer/i18n/formats.ts';

/** Loads the texts of all pages of the panel. */
export async function loadTexts(language: Language, zone: Zone): Promise<Translator> {
  const { t, loadAll } = await loadLanguage(language, zone);
  await loadAll();
  return t;
}
