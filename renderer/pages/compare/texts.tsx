import { createPageTexts } from '../../app/page-texts.tsx';
import { type RunKey, runs } from '../../i18n/en/runs.ts';
import type { PageTranslator } from '../../i18n/page-texts.ts';

export type RunTranslator = PageTranslator<RunKey>;

export const { Texts: RunTexts, useTexts: useRunT } = createPageTexts<RunKey>(runs, {
  es: async () => (await import('../../i18n/es/runs.ts')).runs,
  zh: async () => (await import('../../i18n/zh/runs.ts')).runs,
  hi: async () => (await import('../../i18n/hi/runs.ts')).runs,
  ja: async () => (await import('../../i18n/ja/runs.ts')).runs,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(runs),
});
