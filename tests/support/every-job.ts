/** Of a list of jobs: what leaves none out. */
export const everyJob = {
  statuses: [],
  includeFinal: true,
  user: null,
  workerId: null,
  text: null,
  blocked: false,
  before: null,
} as const;
