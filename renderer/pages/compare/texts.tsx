import { createContext, type ReactNode, use, useContext, useMemo } from 'react';
import { usePanel } from '../../app/context.ts';
import { loadPart } from '../../app/part.ts';
import { type RunKey, runs } from '../../i18n/en/runs.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { useT } from '../../i18n/index.ts';
import { type PageTranslator, withPageTexts } from '../../i18n/page-texts.ts';
import { usePreferences } from '../../state/stores.ts';

export type RunTranslator = PageTranslator<RunKey>;
type RunMessages = Readonly<Record<RunKey, string>>;

const catalogs: Readonly<Record<string, () => Promise<RunMessages>>> = {
  es: async () => (await import('../../i18n/es/runs.ts')).runs,
  zh: async () => (await import('../../i18n/zh/runs.ts')).runs,
  hi: async () => (await import('../../i18n/hi/runs.ts')).runs,
  ja: async () => (await import('../../i18n/ja/runs.ts')).runs,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(runs),
};

/** React needs the same promise at each render. */
const loadTexts = perLanguage(
  (language): Promise<RunMessages> =>
    loadPart(catalogs[language] ?? ((): Promise<RunMessages> => Promise.resolve(runs))),
);

const TextsContext = createContext<RunTranslator | null>(null);

/** Provides the texts of this page. Suspends until they are loaded. */
export function RunTexts({ children }: { readonly children: ReactNode }) {
  const t = useT();
  const { language } = usePreferences(usePanel().preferences);
  const messages = use(loadTexts(language));
  const value = useMemo(() => withPageTexts(t, messages), [t, messages]);
  return <TextsContext value={value}>{children}</TextsContext>;
}

export function useRunT(): RunTranslator {
  const t = useContext(TextsContext);
  if (t === null) throw new Error('there are no texts of runs above this component');
  return t;
}
