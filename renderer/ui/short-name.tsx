/** Names up to this length are never shortened. */
const maxPlain = 20;
/** The end of a longer name: the last value of a sweep, the last word, or the last letters. */
const end = /(?:=[^=]{1,12}|[-_/ ][^-_/= ]{1,12}|.{6})$/u;

/**
 * Shortens a name in its middle when it does not fit, because the names of a sweep differ only at their ends. A link
 * around this component needs an `aria-label`, because screen readers pause between the two parts.
 */
export function ShortName({ name }: { readonly name: string }) {
  if (name.length <= maxPlain) return name;
  const { head, tail } = splitName(name);
  return (
    <span className="short-name">
      <span>{head}</span>
      <span>{tail}</span>
    </span>
  );
}

/** Splits a name before the part that tells it apart from similar names. */
export function splitName(name: string): { readonly head: string; readonly tail: string } {
  const tail = end.exec(name)?.[0] ?? '';
  return { head: name.slice(0, name.length - tail.length), tail };
}
