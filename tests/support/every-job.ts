import { parseSearch } from '../../protocol/job-search.ts';

/** A job filter that excludes nothing. */
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
