import type { Call } from '../../../protocol/call.ts';
import { isFinal, isWaiting, type JobView } from '../../../protocol/job.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import type { May } from '../../api/person.ts';
import type { MessageKey } from '../../i18n/index.ts';

export const jobActs = [
  'save',
  'sample',
  'cancel',
  'retry',
  'duplicate',
  'priority',
  'top',
  'approve',
  'reject',
  'delete',
] as const;
export type JobAct = (typeof jobActs)[number];

const calls = {
  save: queueApi.ask,
  sample: queueApi.ask,
  cancel: queueApi.cancel,
  retry: queueApi.retry,
  duplicate: queueApi.submit,
  priority: queueApi.setPriority,
  top: queueApi.moveToTop,
  approve: queueApi.approve,
  reject: queueApi.reject,
  delete: queueApi.remove,
} as const satisfies Readonly<Record<JobAct, Call>>;

/** Returns true when the user may do at least one action on jobs. */
export const mayAct = (may: May): boolean => Object.values(calls).some(call => may(call));

/**
 * Returns whether to offer an action. It never offers forbidden actions. It offers approval only for jobs that wait for it, and requests
 * only for running jobs whose trainer supports them; elsewhere they would be noise.
 */
export const isOffered = (act: JobAct, job: JobView, may: May): boolean =>
  may(calls[act], job) && fits(act, job);

function fits(act: JobAct, job: JobView): boolean {
  if (act === 'approve' || act === 'reject') return isWaiting(job.status) && job.approval === 'wanted';
  return (act !== 'save' && act !== 'sample') || (job.status === 'running' && job.requests.includes(act));
}

/** Returns why an action is impossible now; null when it is possible. The server decides in the end. */
export function whyNot(act: JobAct, job: JobView): MessageKey | null {
  switch (act) {
    case 'cancel':
      if (isFinal(job.status)) return 'jobs.not.ended';
      return job.status === 'cancelling' ? 'jobs.not.cancelling' : null;
    case 'retry':
    case 'delete':
      return isFinal(job.status) ? null : 'jobs.not.goesOn';
    case 'priority':
    case 'top':
      return isWaiting(job.status) ? null : 'jobs.not.waits';
    case 'save':
    case 'sample':
    case 'duplicate':
    case 'approve':
    case 'reject':
      return null;
  }
}
