/** Counts of trainings and workers for the whole demo; each worker updates them. */
export interface Tally {
  connected: number;
  training: number;
  completed: number;
  failed: number;
  /** Cancelled, moved to another worker, or cut short when the worker ended. */
  stopped: number;
  /** Workers that are currently disconnected without notice. */
  away: number;
  /** Workers that have ended. */
  ended: number;
}

export const newTally = (): Tally => ({
  connected: 0,
  training: 0,
  completed: 0,
  failed: 0,
  stopped: 0,
  away: 0,
  ended: 0,
});
