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
  const tail = end.exec(name)?.[0] ?? '';
  return (
    <span className="short-name">
      <span>{name.slice(0, name.length - tail.length)}</span>
      <span>{tail}</span>
    </span>
  );
}
