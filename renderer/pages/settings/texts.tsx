import { createPageTexts } from '../../app/page-texts.tsx';
import { type SettingsKey, settingsTopics } from '../../i18n/en/settings-topics.ts';
import type { PageTranslator } from '../../i18n/page-texts.ts';

export type SettingsTranslator = PageTranslator<SettingsKey>;

export const { Texts: SettingsTexts, useTexts: useSettingsT } = createPageTexts<SettingsKey>(settingsTopics, {
  es: async () => (await import('../../i18n/es/settings-topics.ts')).settingsTopics,
  zh: async () => (await import('../../i18n/zh/settings-topics.ts')).settingsTopics,
  hi: async () => (await import('../../i18n/hi/settings-topics.ts')).settingsTopics,
  ja: async () => (await import('../../i18n/ja/settings-topics.ts')).settingsTopics,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(settingsTopics),
});
