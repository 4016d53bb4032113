/** What was looked at, and what came of it. */
export type Check = {
  readonly what: string;
  /** `skipped`: there was nothing to look at. */
  readonly result: 'ok' | 'failed' | 'skipped';
  /** What is the case; when it failed, also what to do. */
  readonly detail: string;
};

export const passed = (what: string, detail: string): Check => ({ what, result: 'ok', detail });
export const failed = (what: string, detail: string): Check => ({ what, result: 'failed', detail });
export const skipped = (what: string, detail: string): Check => ({ what, result: 'skipped', detail });
