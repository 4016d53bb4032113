const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** A number of bytes in the greatest unit that is not greater than it: "12.3 MB". A kB is 1,000 bytes. */
export function sizeText(bytes: number): string {
  const at = Math.max(
    0,
    units.findLastIndex((_, power) => Number(bytes.toPrecision(3)) >= 1_000 ** power),
  );
  return `${Number((bytes / 1_000 ** at).toPrecision(3))} ${units[at]}`;
}
