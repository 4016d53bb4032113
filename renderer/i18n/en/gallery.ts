/** Texts of the gallery. They load together with that page. */
export const gallery = {
  'gallery.none':
    'No samples yet. Trainers write sample images and videos while they train, if their config asks for it. The worker uploads them, and they appear here.',
  'gallery.none.jobs': 'Show jobs',
  'gallery.summary':
    '{count, plural, one {# sample} other {# samples}} of {jobs, plural, one {# job} other {# jobs}}',
  'gallery.count': '{count, plural, one {# sample} other {# samples}}',
  'gallery.choose': 'Choose {job} to compare',
  'gallery.choose.hint': 'Choose up to four jobs to compare their samples.',
  'gallery.chosen': '{count, plural, one {# job chosen} other {# jobs chosen}}',
  'gallery.compare': 'Compare samples',
  'gallery.clear': 'Clear selection',
  'gallery.older': 'Load older samples',
  'gallery.back': 'All samples',
  'gallery.change': 'Choose jobs',
  'gallery.remove': 'Remove {job}',
  'gallery.comparison': 'Samples by prompt and job',
  'gallery.unit': 'Compare by',
  'gallery.unit.step': 'Step',
  'gallery.unit.epoch': 'Epoch',
  'gallery.none.before': 'No sample at or before this step',
  'gallery.none.placed':
    'The samples of these jobs cannot be compared, because their names contain no step or epoch. See them under all samples.',
  'gallery.none.ofJobs': 'These jobs have no samples yet. They appear here after they are uploaded.',
  'gallery.unplaced':
    '{count, plural, one {# sample is not shown, because its name contains no such position.} other {# samples are not shown, because their names contain no such position.}}',
  'gallery.keys': 'Keys: ← and → change the step, F shows a sample in full screen.',
  'gallery.full.keys': 'Keys: ← and → change the step, ↑ and ↓ the prompt, Esc closes.',
  'gallery.prompt': 'Prompt {number, number}',
  'gallery.prompt.none': 'Sample',
  'gallery.sample': '{job}, {prompt}, {place}',
  'gallery.previousStep': 'Previous step',
  'gallery.nextStep': 'Next step',
  'gallery.previousPrompt': 'Previous prompt',
  'gallery.nextPrompt': 'Next prompt',
} as const satisfies Readonly<Record<string, string>>;

export type GalleryKey = keyof typeof gallery;
