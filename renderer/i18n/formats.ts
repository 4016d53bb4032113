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
