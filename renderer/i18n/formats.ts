/** Whose words a time is written in, and where its clock stands. */
export interface Place {
  readonly language: string;
  readonly zone: Zone;
}

/** As the machine has it, or the one that servers and other people have, too. */
export type Zone = 'local' | 'utc';

/** The same of times, which differ by zone as well. */
export function perPlace(options: Intl.DateTimeFormatOptions): (place: Place) => Intl.DateTimeFormat {
  const local = perLanguage(language => new Intl.DateTimeFormat(language, options));
  const utc = perLanguage(language => new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' }));
  return ({ language, zone }) => (zone === 'utc' ? utc : local)(language);
}

/**
 * What is made for a language is made once: an Intl format costs more to make than to use a hundred times, and each row of a
 * table needs several.
 */
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
