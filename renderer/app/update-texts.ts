import { type UpdateKey, updates } from '../i18n/en/updates.ts';
import { createPageTexts } from './page-texts.tsx';

/** The texts of the dialog and the notices for worker updates. */
export const { Texts: UpdateTexts, useTexts: useUpdateTexts } = createPageTexts<UpdateKey>(updates, {
  es: async () => (await import('../i18n/es/updates.ts')).updates,
  zh: async () => (await import('../i18n/zh/updates.ts')).updates,
  hi: async () => (await import('../i18n/hi/updates.ts')).updates,
  ja: async () => (await import('../i18n/ja/updates.ts')).updates,
  pseudo: async () => (await import('../i18n/pseudo.ts')).pseudoOf(updates),
});
