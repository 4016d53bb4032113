import type { z } from 'zod';
import type { AfterOn } from '../../../protocol/job-dependencies.ts';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import type { CrashPoint } from '../world/disk.ts';
import type { Condition } from '../world/link.ts';
import type { TrainingBehaviour } from '../world/trainer.ts';

/**
 * Everything that a seed decides before its world starts: rigs, jobs, acts of users, and faults. Times are in virtual ms from the
 * start. Faults and acts are independent, so a developer can reduce a failure to the few events that cause it.
 */
export interface Plan {
  readonly seed: number;
  /** T: the silence after which a worker is offline. */
  readonly heartbeatTimeoutMs: number;
  /** The silence after which a worker with protocol 1 is offline, if longer than T; otherwise 0. */
  readonly v1SilenceMs: number;
  /** After this time, no fault is active. */
  readonly healAtMs: number;
  /** Speed of the orchestrator's clocks; 1 is exact. */
  readonly rate: number;
  readonly rigs: readonly RigPlan[];
  readonly jobs: readonly JobPlan[];
  /** The teams of the users' tokens. */
  readonly teams: Teams;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
}

/** The time scale of a plan, in ms. */
export interface Span {
  /** The heartbeat timeout T. */
  readonly t: number;
  readonly healAtMs: number;
}

export interface RigPlan {
  readonly index: number;
  readonly name: string;
  readonly protocol: 1 | 2;
  /** True when the agent keeps running between jobs. */
  readonly persistent: boolean;
  readonly gpus: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Speed of the rig's clocks; 1 is exact. */
  readonly rate: number;
  readonly hasTokenFile: boolean;
  /** True when the agent sends random calls. */
  readonly isWild: boolean;
  /** True when the agent never acknowledges an offer. */
  readonly isMute: boolean;
  /** True when no trainer can start on this rig. */
  readonly isBroken: boolean;
}

/** The planned result of starting a job on a rig: a training, or the cause of a failed start. */
export type StartPlan = TrainingBehaviour | 'rejected' | 'start_failed';

export interface JobPlan {
  readonly index: number;
  readonly atMs: number;
  readonly request: z.input<typeof SubmitRequest>;
  /** True when the job must stop after its worker loses contact (`on_lost_contact: stop`). */
  readonly stopsWithoutContact: boolean;
  readonly submitTerms: SubmitTerms;
  /** The results of the starts, in order. The last entry also applies to all later starts. */
  readonly starts: readonly [StartPlan, ...StartPlan[]];
}

/** The team of each user's token; null for a token without a team. */
export type Teams = Readonly<Record<SubmitTerms['user'], string | null>>;

/** The terms under which a user submits the job. */
export interface SubmitTerms {
  readonly user: 'ada' | 'bob';
  readonly needsApproval: boolean;
  /** True when the submission must fail unless the job can be dispatched immediately. */
  readonly isNow: boolean;
  /** The parent of the job; null for none. Ignored unless the same user has already submitted the parent. */
  readonly after: { readonly job: number; readonly on: AfterOn } | null;
  /** True when the submission has an idempotency key, so that the user can repeat it. */
  readonly hasKey: boolean;
}

/** An act of a user on one job. `job`: the index of the job in the plan. */
export type JobAct =
  | {
      readonly kind: 'cancel' | 'release' | 'approve' | 'reject' | 'move to top' | 'retry' | 'remove';
      readonly job: number;
    }
  | { readonly kind: 'priority'; readonly job: number; readonly priority: number };

/** An act of a user on the whole queue. */
export type QueueAct =
  | { readonly kind: 'pause' | 'resume' | 'clean up' }
  | {
      readonly kind: 'limit';
      readonly all: number | null;
      readonly perUser: number | null;
      readonly perTeam: number | null;
    };

/** An act of a user. `rig`: the index of the rig in the plan. */
export type Act = { readonly atMs: number } & (
  | JobAct
  | QueueAct
  | { readonly kind: 'drain'; readonly rig: number; readonly deadlineMs: number | null }
  | { readonly kind: 'undrain' | 'delete' | 'unquarantine'; readonly rig: number }
  | { readonly kind: 'rotate'; readonly rig: number; readonly mode: 'now' | 'after_job' }
);

/** A client with its own network link: a rig by its index, the users, or the panel. */
export type Place = number | 'people' | 'panel';

/** A fault without its time. */
export type Trouble =
  /** Changes the network conditions of one client. */
  | { readonly kind: 'weather'; readonly place: Place; readonly condition: Condition; readonly forMs: number }
  | { readonly kind: 'break streams'; readonly place: Place; readonly how: 'reset' | 'half-open' }
  | { readonly kind: 'pause agent'; readonly rig: number; readonly forMs: number }
  | { readonly kind: 'kill agent'; readonly rig: number; readonly downMs: number }
  | { readonly kind: 'reboot rig'; readonly rig: number; readonly downMs: number }
  | { readonly kind: 'lose rig' | 'preempt rig' | 'upgrade agent' | 'kill guard'; readonly rig: number }
  | { readonly kind: 'set clock'; readonly place: number | 'orchestrator'; readonly byMs: number }
  /** `sleep`: the orchestrator's machine sleeps, so that its monotonic clock also stops. */
  | { readonly kind: 'pause orchestrator' | 'sleep'; readonly forMs: number }
  | { readonly kind: 'stop orchestrator' | 'kill orchestrator'; readonly downMs: number }
  /** Crashes the orchestrator at this point of a command that changes a job, after `skip` other such commands. */
  | { readonly kind: 'crash at'; readonly point: CrashPoint; readonly skip: number; readonly downMs: number }
  | { readonly kind: 'disk full'; readonly forMs: number }
  /** Disconnects the rig on which the next trainer starts. */
  | { readonly kind: 'disconnect rig of next trainer'; readonly forMs: number }
  /** A report of a worker about a job that the worker never had. */
  | {
      readonly kind: 'stray report';
      readonly rig: number;
      readonly job: number;
      readonly word: 'completed' | 'failed' | 'running';
    };

export type Fault = Trouble & { readonly atMs: number };
