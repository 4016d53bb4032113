import type { Messages } from '../en/index.ts';
import { firstPage } from './first-page.ts';
import { pages } from './pages.ts';
import { workers } from './workers.ts';
import { jobs } from './jobs.ts';
import { jobOutputs } from './job-outputs.ts';
import { settings } from './settings.ts';

export const ja: Messages = {
  ...firstPage,
  ...pages,
  ...workers,
  ...jobs,
  ...jobOutputs,
  ...settings,
};
