import { type Call, type Permission, reachOf } from '../../protocol/call.ts';
import type { ValueOf } from '../../protocol/client.ts';
import type { JobView } from '../../protocol/job.ts';
import type { sessionApi } from '../../protocol/session-api.ts';

/** Who is signed in. */
export interface Person {
  /** The name of the token. */
  readonly user: string;
  readonly permissions: readonly Permission[];
  /** When the session ends, RFC 3339. */
  readonly until: string | null;
}

/** Null for nobody. */
export const personOf = ({ user, permissions, expires_at: until }: ValueOf<typeof sessionApi.get>) =>
  user === null ? null : { user, permissions, until };

/** What may be seen and done is the same, and so is the name that it is done under. */
export const isSamePerson = (one: Person, other: Person): boolean =>
  one.user === other.user && one.permissions.toSorted().join() === other.permissions.toSorted().join();

/**
 * Whether somebody may make a call; its row in the protocol alone decides. With `job`: whether they may make it for that job. Without:
 * whether they may make it for any job.
 */
export type May = (row: Pick<Call, 'authority' | 'own'>, job?: Pick<JobView, 'user'>) => boolean;

/** A worker's own calls are for nobody who signs in. */
export const mayOf =
  ({ user, permissions }: Pick<Person, 'user' | 'permissions'>): May =>
  (row, job) => {
    const reach = reachOf(permissions, row);
    return reach === 'all' || (reach === 'own' && (job === undefined || job.user === user));
  };

/** For display: a full permission includes its `.own`. */
export const shownPermissions = (held: readonly Permission[]): readonly Permission[] =>
  held.filter(name => !held.some(other => name === `${other}.own`));
