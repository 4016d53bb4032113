/** Derives pauses, limits and approvals from the audit trail, and checks each dispatch against them. */
import type { AuditRow } from '../../main/orchestrator/ports/index.ts';
import { liveStatuses } from '../../protocol/job.ts';

export interface QueueRules {
  /** Processes the next row of the trail. Describes the rules that the row breaks. */
  check(row: Row): readonly string[];
}

type Row = Pick<AuditRow, 'type' | 'target_type' | 'target_id' | 'actor_id' | 'details'>;

interface Details {
  readonly to?: string;
  readonly max_concurrent?: number | null;
  readonly user_max_concurrent?: number | null;
  readonly team_max_concurrent?: number | null;
}

const isLive = (status: string): boolean => liveStatuses.some(word => word === status);

/**
 * `neededApproval`: returns true if a job was submitted with `requires_approval`. `teamOf`: returns the team whose limit applies
 * to a job, or null.
 */
export function createQueueRules(
  neededApproval: (id: string) => boolean,
  teamOf: (id: string) => string | null = () => null,
): QueueRules {
  const owners = new Map<string, string>();
  const live = new Set<string>();
  const approved = new Set<string>();
  const deleted = new Set<string>();
  let isPaused = false;
  let maxConcurrent: number | null = null;
  let maxPerUser: number | null = null;
  let maxPerTeam: number | null = null;

  const countOfUser = (user: string): number => [...live].filter(id => owners.get(id) === user).length;

  const countOfTeam = (team: string): number => [...live].filter(id => teamOf(id) === team).length;

  /** Describes the rules that the dispatch of this job breaks now. */
  const breachesOf = (id: string): readonly string[] => {
    const team = teamOf(id);
    const user = owners.get(id) ?? '';
    const breaches: (readonly [boolean, string])[] = [
      [isPaused, 'while the queue is paused'],
      [
        maxConcurrent !== null && live.size > maxConcurrent,
        `as number ${live.size} of at most ${maxConcurrent}`,
      ],
      [
        maxPerUser !== null && countOfUser(user) > maxPerUser,
        `as number ${countOfUser(user)} of ${user}, who may have ${maxPerUser}`,
      ],
      [
        maxPerTeam !== null && team !== null && countOfTeam(team) > maxPerTeam,
        `as number ${countOfTeam(team ?? '')} of team ${team}, which may have ${maxPerTeam}`,
      ],
      [neededApproval(id) && !approved.has(id), 'without approval'],
    ];
    return breaches.flatMap(([isBroken, description]) =>
      isBroken ? [`${id} was dispatched ${description}`] : [],
    );
  };

  return {
    check({ type, target_type: targetType, target_id: id, actor_id: actor, details: text }) {
      const details = JSON.parse(text) as Details;
      if (targetType === 'queue') {
        if (type === 'queue.paused') isPaused = true;
        if (type === 'queue.resumed') isPaused = false;
        if (type === 'queue.limits_changed') {
          maxConcurrent = details.max_concurrent ?? null;
          maxPerUser = details.user_max_concurrent ?? null;
          maxPerTeam = details.team_max_concurrent ?? null;
        }
        return [];
      }
      if (targetType !== 'job') return [];
      // A late report about a deleted job may still arrive, and the orchestrator refuses it.
      const isDeleted = deleted.has(id) && type !== 'job.report_refused';
      if (type === 'job.submitted') owners.set(id, actor ?? 'system');
      if (type === 'job.approved') approved.add(id);
      if (type === 'job.deleted') deleted.add(id);
      if (details.to !== undefined) live[isLive(details.to) ? 'add' : 'delete'](id);
      const violations = isDeleted ? [`${id} was deleted, and has a row of type ${type}`] : [];
      return type === 'job.dispatched' ? [...violations, ...breachesOf(id)] : violations;
    },
  };
}

/** Checks a whole trail, oldest row first. Describes the broken rules. */
export function brokenQueueRules(
  rows: readonly Row[],
  neededApproval: (id: string) => boolean,
): readonly string[] {
  const rules = createQueueRules(neededApproval);
  return rows.flatMap(row => rules.check(row));
}
