import type { WorkerId } from '../../protocol/ids.ts';

/** State that the loops of one agent share. Each field has one writer. */
export interface AgentState {
  /** Null until the first registration, and after the orchestrator reports a duplicate of this worker. */
  workerId: WorkerId | null;
  heartbeatMs: number;
  /** T: the silence after which the orchestrator considers the worker offline. */
  timeoutMs: number;
  /** ms from SIGTERM to SIGKILL when a run is stopped. */
  graceMs: number;
  /** The command stream counts as lost after this many ms without data. */
  silenceMs: number;
  /** The GPU troubles in the last acknowledged heartbeat, as JSON; null if it had none. */
  sentTroubles: string | null;
  /** The datasets in the last heartbeat that listed any, as JSON; null before that. */
  sentDatasets: string | null;
  /** Whether the agent takes no further job, and exits when its slot is free. */
  leaving: boolean;
}

/** The default intervals of SimpleTuner's guide, used until the orchestrator sends its own. */
export const initialState = (): AgentState => ({
  workerId: null,
  heartbeatMs: 30_000,
  timeoutMs: 120_000,
  graceMs: 30_000,
  silenceMs: 60_000,
  sentTroubles: null,
  sentDatasets: null,
  leaving: false,
});
