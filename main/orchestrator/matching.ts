import micromatch from 'micromatch';
import type { Requirements } from '../../protocol/job.ts';
import type { Labels } from '../../protocol/labels.ts';

/** What matching looks at in a worker. */
export interface Offering {
  readonly gpuCount: number;
  readonly labels: Labels;
}

/** One reason why a worker can't take a job: what is wanted and what is there. */
export interface Mismatch {
  readonly code: 'gpu_count' | 'label';
  readonly wanted: string;
  readonly there: string;
}

/** All reasons against a worker; none when it fits. */
export type Matcher = (offering: Offering) => readonly Mismatch[];

/** `*` matches across slashes, and nothing but `*`, `?` and `[...]` is special (SEMANTICS.md, section 7). */
const globOptions = { bash: true, dot: true, nobrace: true, noext: true, nonegate: true } as const;

/**
 * micromatch hands groups, `+` and quotes on to the regular expression, where `(a+)+b` would hold up the whole process
 * for one label: they are taken as they are written.
 */
const asGlob = (pattern: string): string =>
  pattern.replace(/\\[^]|[()+"]/g, part => (part.length > 1 ? part : `\\${part}`));

/** An empty pattern is no glob, and micromatch throws on it. */
const globFor = (pattern: string): ((value: string) => boolean) =>
  pattern === '' ? () => false : micromatch.matcher(asGlob(pattern), globOptions);

/** Two jobs of one shape fit the same workers. */
export const shapeOf = (needs: Requirements): string =>
  JSON.stringify([
    needs.target,
    needs.gpuCount,
    Object.entries(needs.labels).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ]);

/** Compiles the patterns once, for any number of workers. */
export function compileMatcher(needs: Requirements): Matcher {
  const labels = Object.entries(needs.labels).map(([key, pattern]) => ({
    key,
    pattern,
    matches: globFor(pattern),
  }));
  return offering => [
    ...(offering.gpuCount < needs.gpuCount
      ? [{ code: 'gpu_count' as const, wanted: String(needs.gpuCount), there: String(offering.gpuCount) }]
      : []),
    ...labels.flatMap(({ key, pattern, matches }) => {
      const value = Object.hasOwn(offering.labels, key) ? offering.labels[key] : undefined;
      if (value !== undefined && (value === pattern || matches(value))) return [];
      return [{ code: 'label' as const, wanted: `${key}=${pattern}`, there: value ?? 'none' }];
    }),
  ];
}
