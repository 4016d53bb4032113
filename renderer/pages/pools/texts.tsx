import { createContext, type ReactNode, use, useContext, useMemo } from 'react';
import { usePanel } from '../../app/context.ts';
import { loadPart } from '../../app/part.ts';
import { type PoolKey, pools } from '../../i18n/en/pools.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { useT } from '../../i18n/index.ts';
import { type PageTranslator, withPageTexts } from '../../i18n/page-texts.ts';
import { usePreferences } from '../../state/stores.ts';

export type PoolTranslator = PageTranslator<PoolKey>;
type PoolMessages = Readonly<Record<PoolKey, string>>;

const catalogs: Readonly<Record<string, () => Promise<PoolMessages>>> = {
  es: async () => (await import('../../i18n/es/pools.ts')).pools,
  zh: async () => (await import('../../i18n/zh/pools.ts')).pools,
  hi: async () => (await import('../../i18n/hi/pools.ts')).pools,
  ja: async () => (await import('../../i18n/ja/pools.ts')).pools,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(pools),
};

/** React needs the same promise at each render. */
const loadTexts = perLanguage(
  (language): Promise<PoolMessages> =>
    loadPart(catalogs[language] ?? ((): Promise<PoolMessages> => Promise.resolve(pools))),
);

const TextsContext = createContext<PoolTranslator | null>(null);

/** Provides the texts of this page. Suspends until they are loaded. */
export function PoolTexts({ children }: { readonly children: ReactNode }) {
  const t = useT();
  const { language } = usePreferences(usePanel().preferences);
  const messages = use(loadTexts(language));
  const value = useMemo(() => withPageTexts(t, messages), [t, messages]);
  return <TextsContext value={value}>{children}</TextsContext>;
}

export function usePoolT(): PoolTranslator {
  const t = useContext(TextsContext);
  if (t === null) throw new Error('there are no texts of pools above this component');
  return t;
}
