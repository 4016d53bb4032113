import { createContext, type ReactNode, use, useContext, useMemo } from 'react';
import { perLanguage } from '../i18n/formats.ts';
import { useT } from '../i18n/index.ts';
import { type PageTranslator, withPageTexts } from '../i18n/page-texts.ts';
import { usePreferences } from '../state/stores.ts';
import { usePanel } from './context.ts';
import { loadPart } from './part.ts';

type Catalog<K extends string> = Readonly<Record<K, string>>;

interface PageTexts<K extends string> {
  /** Provides the texts of the page. Suspends until they are loaded. */
  readonly Texts: (props: { readonly children: ReactNode }) => ReactNode;
  readonly useTexts: () => PageTranslator<K>;
}

/** Creates the provider of a page's own texts. `others` loads the catalogs of the other languages. */
export function createPageTexts<K extends string>(
  english: Catalog<K>,
  others: Readonly<Record<string, () => Promise<Catalog<K>>>>,
): PageTexts<K> {
  /** React needs the same promise at each render. */
  const loadTexts = perLanguage(
    (language): Promise<Catalog<K>> =>
      loadPart(others[language] ?? ((): Promise<Catalog<K>> => Promise.resolve(english))),
  );
  const TextsContext = createContext<PageTranslator<K> | null>(null);
  return {
    Texts({ children }) {
      const t = useT();
      const { language } = usePreferences(usePanel().preferences);
      const messages = use(loadTexts(language));
      const value = useMemo(() => withPageTexts(t, messages), [t, messages]);
      return <TextsContext value={value}>{children}</TextsContext>;
    },
    useTexts() {
      const t = useContext(TextsContext);
      if (t === null) throw new Error('there are no texts of this page above this component');
      return t;
    },
  };
}
