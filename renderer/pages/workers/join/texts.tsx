import { createPageTexts } from '../../../app/page-texts.tsx';
import { join, type JoinKey } from '../../../i18n/en/join.ts';

export const { Texts: JoinTexts, useTexts: useJoinT } = createPageTexts<JoinKey>(join, {
  es: async () => (await import('../../../i18n/es/join.ts')).join,
  zh: async () => (await import('../../../i18n/zh/join.ts')).join,
  hi: async () => (await import('../../../i18n/hi/join.ts')).join,
  ja: async () => (await import('../../../i18n/ja/join.ts')).join,
  pseudo: async () => (await import('../../../i18n/pseudo.ts')).pseudoOf(join),
});
