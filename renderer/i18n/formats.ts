/** The language and the time zone for formatting times. */
export interface Place {
  readonly language: string;
  readonly zone: Zone;
}

/** The machine's time zone, or UTC, which matches server logs and other people. */
export type Zone = 'local' | 'utc';

/** The same for times, which also depend on the time zone. */
export function perPlace(options: Intl.DateTimeFormatOptions): (place: Place) => Intl.DateTimeFormat {
  const local = perLanguage(language => new Intl.DateTimeFormat(language, options));
  const utc = perLanguage(language => new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' }));
  return ({ language, zone }) => (zone === 'utc' ? utc : local)(language);
}

/** Creates each format once per language. An Intl format costs more to create than a hundred uses, and each table row needs several. */
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
