import { type FleetKey, fleet } from '../i18n/en/fleet.ts';
import { createPageTexts } from './page-texts.tsx';

/** The texts of the GPU map, the tools of the workers page, and some cards of the overview. */
export const { Texts: FleetTexts, useTexts: useFleetTexts } = createPageTexts<FleetKey>(fleet, {
  es: async () => (await import('../i18n/es/fleet.ts')).fleet,
  zh: async () => (await import('../i18n/zh/fleet.ts')).fleet,
  hi: async () => (await import('../i18n/hi/fleet.ts')).fleet,
  ja: async () => (await import('../i18n/ja/fleet.ts')).fleet,
  pseudo: async () => (await import('../i18n/pseudo.ts')).pseudoOf(fleet),
});

export type FleetTranslator = ReturnType<typeof useFleetTexts>;
