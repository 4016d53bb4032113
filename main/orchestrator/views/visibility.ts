import { adminPrincipal } from '../model.ts';
import type { Read } from '../ports/index.ts';

/** Whether a user may see the jobs of other users. */
export const seesAllJobs = (read: Read, user: string): boolean =>
  user === adminPrincipal.user || read.apiTokenByName(user)?.permissions.includes('queue.view') === true;
