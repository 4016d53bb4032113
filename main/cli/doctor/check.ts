/** A check and its result. */
export type Check = {
  readonly what: string;
  /** `skipped`: there was nothing to check. */
  readonly result: 'ok' | 'failed' | 'skipped';
  /** The finding; after a failure also what to do. */
  readonly detail: string;
};

export const passed = (what: string, detail: string): Check => ({ what, result: 'ok', detail });
export const failed = (what: string, detail: string): Check => ({ what, result: 'failed', detail });
export const skipped = (what: string, detail: string): Check => ({ what, result: 'skipped', detail });
