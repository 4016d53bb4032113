import { createPageTexts } from '../../../../app/page-texts.tsx';
import { templates, type TemplateKey } from '../../../../i18n/en/templates.ts';
import type { PageTranslator } from '../../../../i18n/page-texts.ts';

export type TemplateTranslator = PageTranslator<TemplateKey>;

export const { Texts: TemplateTexts, useTexts: useTemplateT } = createPageTexts<TemplateKey>(templates, {
  es: async () => (await import('../../../../i18n/es/templates.ts')).templates,
  zh: async () => (await import('../../../../i18n/zh/templates.ts')).templates,
  hi: async () => (await import('../../../../i18n/hi/templates.ts')).templates,
  ja: async () => (await import('../../../../i18n/ja/templates.ts')).templates,
  pseudo: async () => (await import('../../../../i18n/pseudo.ts')).pseudoOf(templates),
});
