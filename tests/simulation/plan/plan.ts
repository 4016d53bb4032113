import type { z } from 'zod';
import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import type { CrashPoint } from '../world/disk.ts';
import type { Condition } from '../world/link.ts';
import type { Nature } from '../world/trainer.ts';

/**
 * Everything that a seed decides before its world begins: who is there, what people want, what goes wrong and when.
 * Times are in virtual milliseconds from the beginning. Leaving a fault or an act out leaves the rest as it is, so that
 * a failure can be shrunk to the few that it needs.
 */
export interface Plan {
  readonly seed: number;
  /** T. */
  readonly heartbeatTimeoutMs: number;
  readonly v1SilenceMs: number;
  /** From here on nothing goes wrong any more. */
  readonly healAtMs: number;
  /** How fast the orchestrator's clocks run. */
  readonly rate: number;
  readonly rigs: readonly RigPlan[];
  readonly jobs: readonly JobPlan[];
  /** Of the users whose token has a team. */
  readonly teams: Teams;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
}

/** What all draws of a plan measure their times by. */
export interface Span {
  /** T. */
  readonly t: number;
  readonly healAtMs: number;
}

export interface RigPlan {
  readonly index: number;
  readonly name: string;
  readonly protocol: 1 | 2;
  /** Stays between jobs, and is started again by its owner. */
  readonly persistent: boolean;
  readonly gpus: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly rate: number;
  readonly hasTokenFile: boolean;
  /** Its agent says whatever comes into its head. */
  readonly isWild: boolean;
  /** Its agent never acknowledges an offer. */
  readonly isMute: boolean;
  /** No trainer starts here. */
  readonly isBroken: boolean;
}

/** What a job does when it is started: a training, or an agent's refusal. */
export type Play = Nature | 'rejected' | 'start_failed';

export interface JobPlan {
  readonly index: number;
  readonly atMs: number;
  readonly request: z.input<typeof SubmitRequest>;
  /** `on_lost_contact: stop`. */
  readonly stopsWithoutContact: boolean;
  readonly manners: JobManners;
  /** For its first start, its second, ...; the last one from then on. */
  readonly plays: readonly [Play, ...Play[]];
}

/** Null for a user whose token has none. */
export type Teams = Readonly<Record<JobManners['user'], string | null>>;

/** How its owner submits it. */
export interface JobManners {
  readonly user: 'ada' | 'bob';
  readonly needsApproval: boolean;
  /** At once, or not at all. */
  readonly isNow: boolean;
  /** With a key: so its owner may ask again. */
  readonly hasKey: boolean;
}

/** About a job, by its index. */
export type JobAct =
  | {
      readonly kind: 'cancel' | 'release' | 'approve' | 'reject' | 'move to top' | 'retry' | 'remove';
      readonly job: number;
    }
  | { readonly kind: 'priority'; readonly job: number; readonly priority: number };

/** About the queue as a whole. */
export type QueueAct =
  | { readonly kind: 'pause' | 'resume' | 'clean up' }
  | {
      readonly kind: 'limit';
      readonly all: number | null;
      readonly perUser: number | null;
      readonly perTeam: number | null;
    };

/** What a person does. Rigs are named by their index, too. */
export type Act = { readonly atMs: number } & (
  | JobAct
  | QueueAct
  | { readonly kind: 'drain'; readonly rig: number; readonly deadlineMs: number | null }
  | { readonly kind: 'undrain' | 'delete' | 'unquarantine'; readonly rig: number }
  | { readonly kind: 'rotate'; readonly rig: number; readonly mode: 'now' | 'after_job' }
);

/** Who has a link of their own. */
export type Place = number | 'people' | 'panel';

/** What can go wrong. */
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
  /** The rig on which the next training begins. */
  | { readonly kind: 'cut off who starts next'; readonly forMs: number }
  /** A worker speaks of a job that was never its own. */
  | {
      readonly kind: 'stray report';
      readonly rig: number;
      readonly job: number;
      readonly word: 'completed' | 'failed' | 'running';
    };

export type Fault = Trouble & { readonly atMs: number };
