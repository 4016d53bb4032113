import { z } from 'zod';
import { Line } from './text.ts';

/** Texts with which people distinguish their jobs. These texts do not affect where or when a job runs. */

const word = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._:@+/=-]*$/u;
const wordRule = 'must start with a letter or digit, and contain only letters, digits and . _ : @ + / = -';

const maxTags = 16;
const areDistinct = (tags: readonly string[]): boolean => new Set(tags).size === tags.length;

/** @internal */
export const JobName = Line.trim().min(1).max(120);

export const JobTag = z.string().max(40).regex(word, wordRule);

/** @internal */
export const JobTags = z.array(JobTag).max(maxTags).refine(areDistinct, 'the same tag is given twice');

export const JobGroup = z.string().max(100).regex(word, wordRule);

export const JobNotes = z
  .string()
  .max(10_000)
  .refine(text => !text.includes('\0'), 'must not contain null characters');

/** A value that a sweep sets. */
export const SweepValue = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()]);
export type SweepValue = z.output<typeof SweepValue>;

export const SweepValues = z
  .record(z.string(), SweepValue)
  .describe(
    'Values that the sweep has set, by their paths in the config; null for a job outside of a sweep.',
  );
export type SweepValues = Readonly<z.output<typeof SweepValues>>;

/** Fields of a request that submits a job. */
export const aboutFields = {
  name: JobName.optional().describe('Name of the job for lists; omitted to show the name of the config.'),
  notes: JobNotes.optional().describe('Notes about the job, at most 10,000 characters.'),
  tags: JobTags.optional().describe('Words to find the job by, at most 16 of 40 characters.'),
  group: JobGroup.optional().describe('Group of jobs that belong together, such as an experiment.'),
} as const;

/** A change of the texts about a job. Omitted fields do not change. */
export const JobEdit = z
  .strictObject({
    name: JobName.nullish().describe('Name of the job; null to show the name of the config.'),
    notes: JobNotes.nullish().describe('Notes about the job; null or an empty text for none.'),
    group: JobGroup.nullish().describe('Group of the job; null for none.'),
    tags: JobTags.optional().describe('All tags of the job.'),
    add_tags: JobTags.optional().describe('Tags to add; the others stay.'),
    remove_tags: JobTags.optional().describe('Tags to remove; the others stay.'),
  })
  .refine(edit => edit.tags === undefined || (edit.add_tags ?? edit.remove_tags) === undefined, {
    path: ['tags'],
    message: 'give either tags, or add_tags and remove_tags',
  });
export type JobEdit = Readonly<z.output<typeof JobEdit>>;

/** Texts about a job, as stored in its row. */
export interface JobAbout {
  readonly name: string | null;
  readonly tags: readonly string[];
  readonly group: string | null;
  readonly sweep: SweepValues | null;
  /** The template that the job was submitted from; null for none. */
  readonly template: string | null;
}

/** @internal */
export const nothingAbout: JobAbout = { name: null, tags: [], group: null, sweep: null, template: null };

/** Returns the name to display: that of the job, or else that of the config. */
export const shownName = (job: { readonly name: string | null; readonly config_name: string }): string =>
  job.name ?? job.config_name;

/** Applies a change to the texts; returns null if the job would have too many tags. */
export function edited(about: JobAbout, edit: JobEdit): JobAbout | null {
  const { name = about.name, group = about.group, add_tags: added = [], remove_tags: removed = [] } = edit;
  const remaining = (edit.tags ?? about.tags).filter(tag => !removed.includes(tag));
  const tags = [...new Set([...remaining, ...added])];
  return tags.length > maxTags ? null : { ...about, name, group, tags };
}
