import { type Call, type Permission, reachOf } from '../../protocol/call.ts';
import type { ValueOf } from '../../protocol/client.ts';
import type { JobView } from '../../protocol/job.ts';
import type { sessionApi } from '../../protocol/session-api.ts';

/** The person who is signed in. */
export interface Person {
  /** The name of the token. */
  readonly user: string;
  readonly permissions: readonly Permission[];
  /** End of the session, RFC 3339. */
  readonly until: string | null;
}

/** Null when nobody is signed in. */
export const personOf = ({ user, permissions, expires_at: until }: ValueOf<typeof sessionApi.get>) =>
  user === null ? null : { user, permissions, until };

/** Returns true when the user name and the permissions are equal. */
export const isSamePerson = (one: Person, other: Person): boolean =>
  one.user === other.user && one.permissions.toSorted().join() === other.permissions.toSorted().join();

/**
 * Returns true when the person may make a call, as its row in the protocol defines. With `job`: for that job. Without: for at least some
 * job.
 */
export type May = (row: Pick<Call, 'authority' | 'own'>, job?: Pick<JobView, 'user'>) => boolean;

/** No signed-in person may make the workers' own calls. */
export const mayOf =
  ({ user, permissions }: Pick<Person, 'user' | 'permissions'>): May =>
  (row, job) => {
    const reach = reachOf(permissions, row);
    return reach === 'all' || (reach === 'own' && (job === undefined || job.user === user));
  };

/** For display: a full permission includes its `.own`. */
export const shownPermissions = (held: readonly Permission[]): readonly Permission[] =>
  held.filter(name => !held.some(other => name === `${other}.own`));
