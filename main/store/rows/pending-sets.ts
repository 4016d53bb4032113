/**
 * The three sets of pending jobs, as conditions on `jobs`. A pending job is in exactly one of them. Each has its own partial
 * index, which SQLite uses only for a query with exactly these conditions. `unmet` is the number of parents that are not done.
 * The parameter `j` is the table's alias with a dot, or empty.
 */

/** Jobs that wait only for a worker and their turn. Use with the index `jobs_pending`. */
export const isQueued = (j = ''): string =>
  `${j}status = 'pending' AND ${j}approval IS NOT 'wanted' AND ${j}unmet = 0`;

/** Jobs that wait for other jobs. Use with the index `jobs_dependent`. */
export const isDependent = (j = ''): string =>
  `${j}status = 'pending' AND ${j}approval IS NOT 'wanted' AND ${j}unmet > 0`;

/** Jobs that wait for approval, and perhaps for other jobs as well. Use with the index `jobs_unapproved`. */
export const isUnapproved = (j = ''): string => `${j}status = 'pending' AND ${j}approval = 'wanted'`;
