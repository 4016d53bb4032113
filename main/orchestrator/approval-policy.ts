import { everyone } from '../../protocol/queue.ts';

/** Whether the queue requires approval for a new job, even if its submitter did not request it. */
export const needsApproval = (policy: readonly string[], user: string, mayManageQueue: boolean): boolean =>
  policy.includes(user) || (policy.includes(everyone) && !mayManageQueue);
