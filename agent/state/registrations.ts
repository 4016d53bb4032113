import { existsSync } from 'node:fs';
import { writeWhole } from '../files/whole-file.ts';

/** Whether an orchestrator has ever accepted this worker. */
export interface Registrations {
  hasAny(): boolean;
  record(): void;
}

/** Survives restarts of the agent: `file` exists once an orchestrator has accepted this worker. */
export function openRegistrations(file: string): Registrations {
  let known = existsSync(file);
  return {
    hasAny: () => known,
    record() {
      if (known) return;
      known = true;
      try {
        writeWhole(file, '');
      } catch {
        // The disk is full or read-only. A later process records its own registration.
      }
    },
  };
}

/** Remembers this in memory, for workers that write nothing to disk. */
export function holdRegistrations(): Registrations {
  let known = false;
  return { hasAny: () => known, record: () => void (known = true) };
}
