import { createPageTexts } from '../../../app/page-texts.tsx';
import { submit, type SubmitKey } from '../../../i18n/en/submit.ts';
import type { PageTranslator } from '../../../i18n/page-texts.ts';

export type SubmitTranslator = PageTranslator<SubmitKey>;

export const { Texts: SubmitTexts, useTexts: useSubmitT } = createPageTexts<SubmitKey>(submit, {
  es: async () => (await import('../../../i18n/es/submit.ts')).submit,
  zh: async () => (await import('../../../i18n/zh/submit.ts')).submit,
  hi: async () => (await import('../../../i18n/hi/submit.ts')).submit,
  ja: async () => (await import('../../../i18n/ja/submit.ts')).submit,
  pseudo: async () => (await import('../../../i18n/pseudo.ts')).pseudoOf(submit),
});
