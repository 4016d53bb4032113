import type { z } from 'zod';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import type { CrashPoint } from '../world/disk.ts';
import type { Condition } from '../world/link.ts';
import type { Nature } from '../world/trainer.ts';

/**
 * Everything that a seed decides before its world starts: which rigs, jobs and acts there are, and what fails when.
 * Times are in virtual milliseconds from the start. Removing a fault or an act leaves the rest of the plan unchanged,
 * so that a failure can be reduced to the few events that it needs.
 */
export interface Plan {
  readonly seed: number;
  /** T: the silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  readonly v1SilenceMs: number;
  /** No fault is active after this time. */
  readonly healAtMs: number;
  /** How fast the orchestrator's clocks run; 1 is exact. */
  readonly rate: number;
  readonly rigs: readonly RigPlan[];
  readonly jobs: readonly JobPlan[];
  /** The teams of the users' tokens. */
  readonly teams: Teams;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
}

/** The time scale of a plan, which all its draws share. */
export interface Span {
  /** T. */
  readonly t: number;
  readonly healAtMs: number;
}

export interface RigPlan {
  readonly index: number;
  readonly name: string;
  readonly protocol: 1 | 2;
  /** The agent keeps running between jobs, and its owner restarts it. */
  readonly persistent: boolean;
  readonly gpus: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly rate: number;
  readonly hasTokenFile: boolean;
  /** Its agent sends random calls. */
  readonly isWild: boolean;
  /** Its agent never acknowledges an offer. */
  readonly isMute: boolean;
  /** No trainer can start on this rig. */
  readonly isBroken: boolean;
}

/** What happens when a job starts: a training, or a refusal by the agent. */
export type Play = Nature | 'rejected' | 'start_failed';

export interface JobPlan {
  readonly index: number;
  readonly atMs: number;
  readonly request: z.input<typeof SubmitRequest>;
  /** `on_lost_contact: stop`. */
  readonly stopsWithoutContact: boolean;
  readonly manners: JobManners;
  /** The plays of the first start, the second, and so on. The last one repeats. */
  readonly plays: readonly [Play, ...Play[]];
}

/** The team of each user's token; null when the token has no team. */
export type Teams = Readonly<Record<JobManners['user'], string | null>>;

/** How its owner submits the job. */
export interface JobManners {
  readonly user: 'ada' | 'bob';
  readonly needsApproval: boolean;
  /** The job must be dispatched immediately, or the submission fails. */
  readonly isNow: boolean;
  /** The submission has an idempotency key, so the owner may repeat it. */
  readonly hasKey: boolean;
}

/** An act on one job, which it names by its index. */
export type JobAct =
  | {
      readonly kind: 'cancel' | 'release' | 'approve' | 'reject' | 'move to top' | 'retry' | 'remove';
      readonly job: number;
    }
  | { readonly kind: 'priority'; readonly job: number; readonly priority: number };

/** An act on the whole queue. */
export type QueueAct =
  | { readonly kind: 'pause' | 'resume' | 'clean up' }
  | {
      readonly kind: 'limit';
      readonly all: number | null;
      readonly perUser: number | null;
      readonly perTeam: number | null;
    };

/** An act of a person. Acts name rigs by their index, too. */
export type Act = { readonly atMs: number } & (
  | JobAct
  | QueueAct
  | { readonly kind: 'drain'; readonly rig: number; readonly deadlineMs: number | null }
  | { readonly kind: 'undrain' | 'delete' | 'unquarantine'; readonly rig: number }
  | { readonly kind: 'rotate'; readonly rig: number; readonly mode: 'now' | 'after_job' }
);

/** A client with a link of its own. */
export type Place = number | 'people' | 'panel';

/** A fault that can occur. */
export type Trouble =
  | { readonly kind: 'weather'; readonly place: Place; readonly condition: Condition; readonly forMs: number }
  | { readonly kind: 'break streams'; readonly place: Place; readonly how: 'reset' | 'half-open' }
  | { readonly kind: 'pause agent'; readonly rig: number; readonly forMs: number }
  | { readonly kind: 'kill agent'; readonly rig: number; readonly downMs: number }
  | { readonly kind: 'reboot rig'; readonly rig: number; readonly downMs: number }
  | { readonly kind: 'lose rig' | 'preempt rig' | 'upgrade agent' | 'kill guard'; readonly rig: number }
  | { readonly kind: 'set clock'; readonly place: number | 'orchestrator'; readonly byMs: number }
  | { readonly kind: 'pause orchestrator' | 'sleep'; readonly forMs: number }
  | { readonly kind: 'stop orchestrator' | 'kill orchestrator'; readonly downMs: number }
  | { readonly kind: 'crash at'; readonly point: CrashPoint; readonly skip: number; readonly downMs: number }
  | { readonly kind: 'disk full'; readonly forMs: number }
  /** Cuts off the rig on which the next training starts. */
  | { readonly kind: 'cut off who starts next'; readonly forMs: number }
  /** A worker sends a report about a job that it never had. */
  | {
      readonly kind: 'stray report';
      readonly rig: number;
      readonly job: number;
      readonly word: 'completed' | 'failed' | 'running';
    };

export type Fault = Trouble & { readonly atMs: number };
