import { type Authority, type Permission, reachOf } from '../../../protocol/call.ts';
import { type NotificationEvent, notificationEvents } from '../../../protocol/notification.ts';

/** The permission of the calls that show the same facts. Events that are missing here need `queue.view`. */
const authorities: Partial<Record<NotificationEvent, Authority>> = {
  worker_lost: 'admin.workers',
  disk_low: 'admin.workers',
  pool_budget: 'admin.pools',
};

/** Returns the events that a person with these permissions may subscribe to. A push message shows no more than the panel. */
export const pushEventsFor = (permissions: readonly Permission[]): readonly NotificationEvent[] =>
  notificationEvents.filter(event => {
    const authority = authorities[event];
    const access = authority === undefined ? viewJobs : { authority };
    return reachOf(permissions, access) !== 'none';
  });

const viewJobs = { authority: 'queue.view', own: 'filtered' } as const;

/** Returns true if the person sees only own jobs, so that a subscription covers no others. */
export const seesOnlyOwnJobs = (permissions: readonly Permission[]): boolean =>
  reachOf(permissions, viewJobs) === 'own';
