import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import type { Ledger } from '../checks/ledger.ts';
import type { Plan } from '../plan/plan.ts';
import type { Committed, Disk } from './disk.ts';
import type { Guard } from './guard.ts';
import type { Life, OrchestratorHost } from './orchestrator-host.ts';
import type { Rig } from './rig.ts';
import type { Trace } from './trace.ts';
import type { Exit, Trainer, TrainerYard } from './trainer.ts';
import type { Read } from '../../../main/orchestrator/ports/index.ts';
import type { ServerEnd, WireAnswer, WireRequest } from './wire.ts';

/** A rig as the checks see it. */
export interface SceneRig {
  readonly rig: Rig;
  /** The guard; null for a v1 agent, which has no guard. */
  readonly guard: Guard | null;
}

/** The world of one seed as the checks see it. */
export interface Scene {
  readonly plan: Plan;
  /** The virtual clock of the simulation. Each machine has its own clocks, which can drift, jump and stop. */
  readonly world: VirtualClock;
  readonly trace: Trace;
  readonly disk: Disk;
  readonly host: OrchestratorHost;
  readonly yard: TrainerYard;
  /** The state of all jobs after the commands that were committed so far. */
  readonly ledger: Ledger;
  readonly rigs: () => readonly SceneRig[];
  rigOf(worker: WorkerId): SceneRig | null;
  /** Returns the worker of a current or former token; null for a token that was never issued. */
  workerOf(token: string): WorkerId | null;
  /**
   * Returns the virtual time of the simulation at which the last disturbance of this rig, its link or the orchestrator ended;
   * the current time during a disturbance.
   */
  calmSince(rig: Rig): number;
  /** Records that a row of the state tables (checks/rows.ts) was reached. */
  reach(row: string): void;
  /** Reports a violation, which ends the run. */
  violate(rule: string, how: string): void;
}

/** Events that a check can observe. The world reports each one when it happens, in order. */
export interface Observer {
  onLife?(life: Life): void;
  onArrive?(request: WireRequest, link: string): void;
  /** Called in the transaction before the command that this call causes. */
  onBegin?(request: WireRequest, read: Read): void;
  onCommit?(command: Committed): void;
  onAnswer?(request: WireRequest, answer: WireAnswer, link: string): void;
  onFrame?(worker: WorkerId, token: string, command: WorkerCommand): void;
  onStream?(worker: WorkerId, end: ServerEnd, what: 'open' | 'ended' | 'closed'): void;
  onTrainerStart?(trainer: Trainer): void;
  onTrainerEnd?(trainer: Trainer, exit: Exit): void;
  onPanelEvent?(event: { readonly seq: number; readonly kind: string; readonly type?: string }): void;
  /** Called after the last fault, when all jobs have ended. */
  atEnd?(): Promise<void> | void;
}

export type Check = (scene: Scene) => Observer;
