import { createPageTexts } from '../../app/page-texts.tsx';
import { type PoolKey, pools } from '../../i18n/en/pools.ts';
import type { PageTranslator } from '../../i18n/page-texts.ts';

export type PoolTranslator = PageTranslator<PoolKey>;

export const { Texts: PoolTexts, useTexts: usePoolT } = createPageTexts<PoolKey>(pools, {
  es: async () => (await import('../../i18n/es/pools.ts')).pools,
  zh: async () => (await import('../../i18n/zh/pools.ts')).pools,
  hi: async () => (await import('../../i18n/hi/pools.ts')).pools,
  ja: async () => (await import('../../i18n/ja/pools.ts')).pools,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(pools),
});
