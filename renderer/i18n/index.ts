import { type I18n, setupI18n } from '@lingui/core';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import { createContext, use, useContext } from 'react';
import { firstPage } from './en/first-page.ts';
import type { MessageKey } from './en/index.ts';
import type { FormatLocale, Zone } from './formats.ts';

export type { MessageKey } from './en/index.ts';

/** Each language under its own name, so that its speakers recognise it. */
export const languages = { en: 'English', es: 'Español', zh: '中文', hi: 'हिन्दी', ja: '日本語' } as const;
export type Language = keyof typeof languages;

/** A pseudo-language with longer, accented texts. It reveals untranslated texts and overflow. */
export const pseudo = 'pseudo';

type Catalog = Readonly<Record<string, string>>;

/** The texts of a language. Only those of the first page load immediately. */
interface Catalogs {
  readonly firstPage: () => Promise<Catalog>;
  readonly all: () => Promise<Catalog>;
}

const catalogs: Readonly<Record<Language | typeof pseudo, Catalogs>> = {
  en: {
    firstPage: () => Promise.resolve(firstPage),
    all: async () => (await import('./en/index.ts')).en,
  },
  es: {
    firstPage: async () => (await import('./es/first-page.ts')).firstPage,
    all: async () => (await import('./es/index.ts')).es,
  },
  zh: {
    firstPage: async () => (await import('./zh/first-page.ts')).firstPage,
    all: async () => (await import('./zh/index.ts')).zh,
  },
  hi: {
    firstPage: async () => (await import('./hi/first-page.ts')).firstPage,
    all: async () => (await import('./hi/index.ts')).hi,
  },
  ja: {
    firstPage: async () => (await import('./ja/first-page.ts')).firstPage,
    all: async () => (await import('./ja/index.ts')).ja,
  },
  pseudo: {
    firstPage: async () => (await import('./pseudo.ts')).pseudoOf(firstPage),
    all: async () => (await import('./pseudo.ts')).pseudoOf((await import('./en/index.ts')).en),
  },
};

export const isLanguage = (word: string): word is Language => Object.hasOwn(languages, word);

/** Returns the first supported language among those that the browser prefers. */
export function preferredLanguage(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const [word = ''] = tag.toLowerCase().split('-');
    if (isLanguage(word)) return word;
  }
  return 'en';
}

/** Returns the text for a key in one language; `language` and `zone` determine the formats of numbers and times. */
export interface Translator extends FormatLocale {
  (key: MessageKey, values?: Values): string;
}

export interface LanguageTexts {
  /** Knows only the texts of the first page until the promise of `loadAll` resolves. */
  readonly t: Translator;
  /** Loads the texts of all other pages. Returns the same promise at each call, because React's `use` requires that. */
  readonly loadAll: () => Promise<void>;
}

/** Loads the texts of the first page. `load` runs the functions that import a catalog. */
export async function loadLanguage(
  language: Language | typeof pseudo,
  zone: Zone,
  load: (read: () => Promise<Catalog>) => Promise<Catalog> = read => read(),
): Promise<LanguageTexts> {
  const catalog = catalogs[language];
  const locale = language === pseudo ? 'en' : language;
  const { translate, add } = compileTexts(await load(catalog.firstPage), locale);
  let loading: Promise<void> | undefined;
  return {
    t: Object.assign(translate, { language: locale, zone }),
    loadAll: () => (loading ??= load(catalog.all).then(add)),
  };
}

/** The values of the placeholders in a text. */
export type Values = Readonly<Record<string, string | number>>;

/** Returns a function that formats these messages, and a function that adds more messages. */
export function compileTexts<K extends string>(messages: Readonly<Record<K, string>>, locale: string) {
  const texts: I18n = setupI18n().setMessagesCompiler(cachePerMessage(compileMessage));
  const add = (more: Catalog): void => texts.load(locale, { ...more });
  add(messages);
  texts.activate(locale);
  return { add, translate: (key: K, values?: Values): string => texts._(key, { ...values }) };
}

/** Caches compiled messages. Without the cache, a table would compile the same messages hundreds of times a second. */
function cachePerMessage<R>(compile: (message: string) => R): (message: string) => R {
  const compiled = new Map<string, R>();
  return message => {
    const known = compiled.get(message);
    if (known !== undefined) return known;
    const made = compile(message);
    compiled.set(message, made);
    return made;
  };
}

const TextsContext = createContext<LanguageTexts | null>(null);
export const TextsProvider = TextsContext.Provider;

function useTexts(): LanguageTexts {
  const texts = useContext(TextsContext);
  if (texts === null) throw new Error('there are no texts above this component');
  return texts;
}

export const useT = (): Translator => useTexts().t;

/** Suspends until the texts of all pages are loaded. */
export const useAllTexts = (): void => use(useTexts().loadAll());
