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

/** A rig, with the details that only an observer can see. */
export interface SceneRig {
  readonly rig: Rig;
  /** Null for the published agent, which has no guard. */
  readonly guard: Guard | null;
}

/** The whole world of one seed, as the checks see it. */
export interface Scene {
  readonly plan: Plan;
  readonly world: VirtualClock;
  readonly trace: Trace;
  readonly disk: Disk;
  readonly host: OrchestratorHost;
  readonly yard: TrainerYard;
  /** The effects of every committed command, in order. */
  readonly ledger: Ledger;
  readonly rigs: () => readonly SceneRig[];
  rigOf(worker: WorkerId): SceneRig | null;
  /** Null for a token that was never issued. */
  workerOf(token: string): WorkerId | null;
  /** World time since which nothing has disturbed this rig, its link, or the orchestrator. */
  calmSince(rig: Rig): number;
  /** Counts that a row of a table was reached. */
  reach(row: string): void;
  /** Records that a check failed. The run ends here. */
  violate(rule: string, how: string): void;
}

/** The events that a check can observe. The world reports each one as it happens, in order. */
export interface Observer {
  onLife?(life: Life): void;
  onArrive?(request: WireRequest, link: string): void;
  /** Runs inside the transaction, before the command of this call. */
  onBegin?(request: WireRequest, read: Read): void;
  onCommit?(command: Committed): void;
  onAnswer?(request: WireRequest, answer: WireAnswer, link: string): void;
  onFrame?(worker: WorkerId, token: string, command: WorkerCommand): void;
  onStream?(worker: WorkerId, end: ServerEnd, what: 'open' | 'ended' | 'closed'): void;
  onTrainerStart?(trainer: Trainer): void;
  onTrainerEnd?(trainer: Trainer, exit: Exit): void;
  onPanelEvent?(event: { readonly seq: number; readonly kind: string; readonly type?: string }): void;
  /** Runs when all faults are healed and every job has ended. */
  atEnd?(): Promise<void> | void;
}

export type Check = (scene: Scene) => Observer;
