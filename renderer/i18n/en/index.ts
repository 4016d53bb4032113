import { firstPage } from './first-page.ts';
import { pages } from './pages.ts';
import { workers } from './workers.ts';
import { jobs } from './jobs.ts';
import { jobOutputs } from './job-outputs.ts';
import { settings } from './settings.ts';

/**
 * All texts of the panel, except those of pages with their own catalog. The catalogs of the other languages compile only
 * if they have exactly the same keys.
 */
export const en = {
  ...firstPage,
  ...pages,
  ...workers,
  ...jobs,
  ...jobOutputs,
  ...settings,
} as const satisfies Readonly<Record<string, string>>;

export type MessageKey = keyof typeof en;
export type Messages = Readonly<Record<MessageKey, string>>;
