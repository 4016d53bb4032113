import { type I18n, setupI18n } from '@lingui/core';
import { compileMessage } from '@lingui/message-utils/compileMessage';
import { createContext, useContext } from 'react';
import { en, type MessageKey, type Messages } from './en/index.ts';
import type { FormatLocale, Zone } from './formats.ts';

export type { MessageKey } from './en/index.ts';

/** Each language under its own name, so that its speakers recognise it. */
export const languages = { en: 'English', es: 'Español', zh: '中文', hi: 'हिन्दी', ja: '日本語' } as const;
export type Language = keyof typeof languages;

/** A pseudo-language with longer, accented texts. It reveals untranslated texts and overflow. */
export const pseudo = 'pseudo';

const catalogs: Readonly<Record<Exclude<Language, 'en'> | typeof pseudo, () => Promise<Messages>>> = {
  es: async () => (await import('./es/index.ts')).es,
  zh: async () => (await import('./zh/index.ts')).zh,
  hi: async () => (await import('./hi/index.ts')).hi,
  ja: async () => (await import('./ja/index.ts')).ja,
  pseudo: async () => (await import('./pseudo.ts')).pseudoOf(en),
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

export async function loadLanguage(language: Language | typeof pseudo, zone: Zone): Promise<Translator> {
  const messages = language === 'en' ? en : await catalogs[language]();
  const locale = language === pseudo ? 'en' : language;
  return Object.assign(compileTexts(messages, locale), { language: locale, zone });
}

/** The values of the placeholders in a text. */
export type Values = Readonly<Record<string, string | number>>;

export function compileTexts<K extends string>(messages: Readonly<Record<K, string>>, locale: string) {
  const texts: I18n = setupI18n().setMessagesCompiler(cachePerMessage(compileMessage));
  texts.load(locale, { ...messages });
  texts.activate(locale);
  return (key: K, values?: Values): string => texts._(key, { ...values });
}

/** Caches compiled messages. Without it, a table would compile the same messages hundreds of times a second. */
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

const TranslatorContext = createContext<Translator | null>(null);
export const TranslatorProvider = TranslatorContext.Provider;

export function useT(): Translator {
  const t = useContext(TranslatorContext);
  if (t === null) throw new Error('there is no translator above this component');
  return t;
}
