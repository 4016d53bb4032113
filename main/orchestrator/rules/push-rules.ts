import { type Authority, type Permission, reachOf } from '../../../protocol/call.ts';
import { type NotificationEvent, notificationEvents } from '../../../protocol/notification.ts';

/** The permission that a user needs to see the same facts in the panel. Events without an entry need `queue.view`. */
const authorities: Partial<Record<NotificationEvent, Authority>> = {
  worker_lost: 'admin.workers',
  disk_low: 'admin.workers',
  pool_budget: 'admin.pools',
};

/** Returns the events that a user with these permissions may subscribe to. A push message shows no more than the panel. */
export const pushEventsFor = (permissions: readonly Permission[]): readonly NotificationEvent[] =>
  notificationEvents.filter(event => {
    const authority = authorities[event];
    const access = authority === undefined ? viewJobs : { authority };
    return reachOf(permissions, access) !== 'none';
  });

const viewJobs = { authority: 'queue.view', own: 'filtered' } as const;

/** Whether a user with these permissions sees only their own jobs. A subscription then covers only these jobs. */
export const seesOnlyOwnJobs = (permissions: readonly Permission[]): boolean =>
  reachOf(permissions, viewJobs) === 'own';
