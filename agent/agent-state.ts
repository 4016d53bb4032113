import type { WorkerId } from '../protocol/ids.ts';

/** What the loops of one agent share; each field has one writer. */
export interface AgentState {
  /** Set by the first registration. */
  workerId: WorkerId | null;
  heartbeatMs: number;
  /** T, as the orchestrator has it. */
  timeoutMs: number;
  graceMs: number;
  silenceMs: number;
  /** What was last acknowledged of the GPUs, as it was sent; null for nothing. */
  saidTroubles: string | null;
  /** The datasets that the last heartbeat named, as they were sent; null before that. */
  saidDatasets: string | null;
  /** No further job is taken; the agent goes when its slot is free. */
  leaving: boolean;
}

/** Until the orchestrator has said otherwise: the guide's own figures. */
export const initialState = (): AgentState => ({
  workerId: null,
  heartbeatMs: 30_000,
  timeoutMs: 120_000,
  graceMs: 30_000,
  silenceMs: 60_000,
  saidTroubles: null,
  saidDatasets: null,
  leaving: false,
});
