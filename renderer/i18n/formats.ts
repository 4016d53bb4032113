/** The language and the time zone for formatting times. */
export interface FormatLocale {
  readonly language: string;
  readonly zone: Zone;
}

/** `local` is the browser's time zone; `utc` matches the server's logs. */
export type Zone = 'local' | 'utc';

/** Creates each format once per language and time zone. */
export function perLocale(
  options: Intl.DateTimeFormatOptions,
): (locale: FormatLocale) => Intl.DateTimeFormat {
  const local = perLanguage(language => new Intl.DateTimeFormat(language, options));
  const utc = perLanguage(language => new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' }));
  return ({ language, zone }) => (zone === 'utc' ? utc : local)(language);
}

/** Creates each format once per language, because creating an `Intl` format costs more than a hundred uses of it. */
export function perLanguage<F>(make: (language: string) => F): (language: string) => F {
  const made = new Map<string, F>();
  return language => {
    const known = made.get(language);
    if (known !== undefined) return known;
    const format = make(language);
    made.set(language, format);
    return format;
  };
}
