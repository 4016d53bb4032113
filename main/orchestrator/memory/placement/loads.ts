import type { JobId } from '../../../../protocol/ids.ts';
import { isLive, type Job, type QueueSettings } from '../../model.ts';
import type { Read } from '../../ports/index.ts';
import { blockersOfAll, blockersOfTeam, blockersOfUser } from '../../rules/queue-rules.ts';
import { settingsOf } from '../eligibility.ts';
import type { PlacementIndex } from './placement-index.ts';

/** Counts running jobs by user and team, and updates the index when a user or team reaches or leaves its limit. */
export function createLoads(index: PlacementIndex) {
  const running = createTally<JobId>();
  const teams = createTally<JobId>();
  /** Teams that have had a job since the start. With a limit of 0, a team is at its limit even without running jobs. */
  const seenTeams = new Set<string>();
  let settings: QueueSettings | null = null;

  /**
   * Updates whether a user is at the limit. A user without running jobs never counts as at the limit: `takesJobs` handles a
   * limit of 0 for all users.
   */
  const applyUserLimit = (user: string): void => {
    const count = running.of(user);
    const isAtLimit = settings !== null && blockersOfUser(settings, user, count).length > 0;
    index.setUserAtLimit(user, count > 0 && isAtLimit);
  };
  const applyTeamLimit = (team: string): void => {
    const count = teams.of(team);
    const isAtLimit = settings !== null && blockersOfTeam(settings, team, count).length > 0;
    index.setTeam(team, { running: count, isAtLimit });
  };
  const load = (read: Read): QueueSettings => {
    settings = settingsOf(read);
    index.setFairShare(settings.fairShare);
    for (const user of running.owners()) applyUserLimit(user);
    for (const team of seenTeams) applyTeamLimit(team);
    return settings;
  };
  const noteTeam = (team: string): void => {
    seenTeams.add(team);
    applyTeamLimit(team);
  };
  return {
    noteTeam,
    note(job: Job): void {
      running.set(job.id, isLive(job) ? job.user : null);
      applyUserLimit(job.user);
      teams.set(job.id, isLive(job) ? job.team : null);
      if (job.team !== null) noteTeam(job.team);
    },
    drop(id: JobId): void {
      running.set(id, null);
      teams.set(id, null);
      for (const team of seenTeams) applyTeamLimit(team);
    },
    /** Makes the next call reload the settings. */
    forgetSettings(): void {
      settings = null;
    },
    /** Whether the queue may dispatch jobs: it is not paused and not at its limit, and the limit per user is not 0. */
    takesJobs(read: Read): boolean {
      settings ??= load(read);
      return blockersOfAll(settings, running.total).length === 0 && settings.maxRunningPerUser !== 0;
    },
  };
}

/** Counts items by owner. */
interface Tally<K> {
  readonly total: number;
  /** Sets the owner of an item; null stops counting it. */
  set(key: K, owner: string | null): void;
  of(owner: string): number;
  /** Owners with at least one item. */
  owners(): Iterable<string>;
}

/** @internal */
export function createTally<K>(): Tally<K> {
  const owners = new Map<K, string>();
  const counts = new Map<string, number>();
  const add = (owner: string, change: number): void => {
    const count = (counts.get(owner) ?? 0) + change;
    if (count > 0) counts.set(owner, count);
    else counts.delete(owner);
  };
  return {
    get total() {
      return owners.size;
    },
    set(key, owner) {
      const before = owners.get(key);
      if (before !== undefined) add(before, -1);
      if (owner === null) owners.delete(key);
      else {
        owners.set(key, owner);
        add(owner, 1);
      }
    },
    of: owner => counts.get(owner) ?? 0,
    owners: () => counts.keys(),
  };
}
