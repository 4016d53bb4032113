import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { writeWhole } from '../host/whole-file.ts';

const Rectangle = z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() });

const StoredFleet = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  pin: z.string().nullable(),
  /** `sealed`: encrypted by the platform, in base64. `plain`: plain text, because the platform cannot encrypt. */
  token: z.discriminatedUnion('kept', [
    z.object({ kept: z.literal('sealed'), text: z.string() }),
    z.object({ kept: z.literal('plain'), text: z.string() }),
  ]),
});
export type StoredFleet = z.output<typeof StoredFleet>;

/** Settings of the app itself. The orchestrator has its own settings. */
const DesktopSettings = z.object({
  fleets: z.array(StoredFleet).default([]),
  /** Id of the fleet in the window; null for this computer's own. */
  shown: z.string().nullable().default(null),
  /** True if the app runs an orchestrator on this computer. */
  runs_own: z.boolean().default(true),
  notices: z
    .object({
      job_completed: z.boolean().default(true),
      job_failed: z.boolean().default(true),
      worker_lost: z.boolean().default(true),
    })
    .prefault({}),
  window: z.object({ bounds: Rectangle, is_maximized: z.boolean() }).nullable().default(null),
  /** True after the app has explained, once, that it keeps running when its window closes. */
  has_told_goes_on: z.boolean().default(false),
  /** Version of the app that the user was last told about. */
  announced_update: z.string().nullable().default(null),
  /** Port of the gateway to remote fleets; 0 before its first start. */
  gateway_port: z.number().int().min(0).max(65_535).default(0),
});
export type DesktopSettings = z.output<typeof DesktopSettings>;

export interface DesktopSettingsFile {
  readonly now: DesktopSettings;
  /** Applies the change immediately and saves it. Returns the error when saving failed. */
  change(change: Partial<DesktopSettings>): Error | null;
}

/**
 * Opens the settings. If the file is damaged, uses the defaults, and the next change replaces the file. The user then has to add
 * remote fleets and their tokens again.
 */
export function openDesktopSettings(file: string): DesktopSettingsFile {
  let now = read(file);
  return {
    get now() {
      return now;
    },
    change(change) {
      now = { ...now, ...change };
      try {
        writeWhole(file, `${JSON.stringify(now, null, 2)}\n`);
        return null;
      } catch (cause) {
        return cause instanceof Error ? cause : new Error(String(cause));
      }
    },
  };
}

function read(file: string): DesktopSettings {
  const parsed = existsSync(file) ? DesktopSettings.safeParse(parseJson(readFileSync(file, 'utf8'))) : null;
  return parsed?.success === true ? parsed.data : DesktopSettings.parse({});
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
