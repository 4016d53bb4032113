import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { writeWhole } from '../host/whole-file.ts';

const Rectangle = z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() });

const KeptFleet = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  pin: z.string().nullable(),
  /** As it was sealed by the platform, in base64; or as it is, where there is nothing to seal it with. */
  token: z.discriminatedUnion('kept', [
    z.object({ kept: z.literal('sealed'), text: z.string() }),
    z.object({ kept: z.literal('plain'), text: z.string() }),
  ]),
});
export type KeptFleet = z.output<typeof KeptFleet>;

/** What the app itself remembers. What the orchestrator does is set there, and kept by it. */
const DesktopSettings = z.object({
  fleets: z.array(KeptFleet).default([]),
  /** Null for the one of this computer. */
  shown: z.string().nullable().default(null),
  runs_own: z.boolean().default(true),
  notices: z
    .object({
      job_completed: z.boolean().default(true),
      job_failed: z.boolean().default(true),
      worker_lost: z.boolean().default(true),
    })
    .prefault({}),
  window: z.object({ bounds: Rectangle, is_maximized: z.boolean() }).nullable().default(null),
  /** That closing the window ends nothing: it is said once. */
  has_told_goes_on: z.boolean().default(false),
  /** Of the server for other fleets: 0 before the first. */
  gateway_port: z.number().int().min(0).max(65_535).default(0),
});
export type DesktopSettings = z.output<typeof DesktopSettings>;

export interface DesktopSettingsFile {
  readonly now: DesktopSettings;
  /** In force at once; kept as far as the disk takes it. Answers with why it did not. */
  change(change: Partial<DesktopSettings>): Error | null;
}

/** One that can not be read is set aside by the next change: what it held was comfort, but for the tokens of other fleets. */
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
