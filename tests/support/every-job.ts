import { parseSearch } from '../../protocol/job-search.ts';

/** Of a list of jobs: what leaves none out. */
export const everyJob = {
  statuses: [],
  includeFinal: true,
  user: null,
  workerId: null,
  search: parseSearch(''),
  blocked: false,
  sort: 'submitted',
  isDescending: true,
  after: null,
} as const;
