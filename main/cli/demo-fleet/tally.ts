/** What has become of all trainings, and who is there; each worker adds its own. */
export interface Tally {
  connected: number;
  training: number;
  completed: number;
  failed: number;
  /** Cancelled, given to somebody else, or cut short by the worker's end. */
  stopped: number;
  /** Workers that are gone without a word, for now. */
  away: number;
  /** Workers that run no more. */
  left: number;
}

export const newTally = (): Tally => ({
  connected: 0,
  training: 0,
  completed: 0,
  failed: 0,
  stopped: 0,
  away: 0,
  left: 0,
});
