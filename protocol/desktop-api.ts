import { z } from 'zod';
import { Line } from './text.ts';

/** Events that the app may show as notifications. */
const NoticeKinds = z.strictObject({
  job_completed: z.boolean(),
  job_failed: z.boolean(),
  worker_lost: z.boolean(),
});
export type NoticeKinds = z.output<typeof NoticeKinds>;

const FleetId = z.string().regex(/^f_[a-z0-9]{10}$/);

const Fleet = z.object({
  id: FleetId,
  name: z.string(),
  /** URL of the orchestrator. */
  url: z.string(),
  pin: z.string().nullable(),
  /** `sealed`: the platform's keyring encrypts the stored token. `plain`: it is not encrypted, because there is no keyring. */
  token: z.enum(['sealed', 'plain']),
});

/** A newer version of the app. Its texts come from the update feed, so the panel shows them as plain text. */
const newVersion = { version: z.string().max(100), notes: z.string().max(20_000) };

/** Why the app could not be updated. `detail` is the message of the failed step. */
export const UpdateProblem = z.enum(['unreachable', 'no_feed_file', 'wrong_hash', 'not_writable', 'other']);
export type UpdateProblem = z.output<typeof UpdateProblem>;

/** State of the update of the app itself. */
const AppUpdate = z.discriminatedUnion('state', [
  /** `checked_at`: time of the last successful check in milliseconds since the epoch; null before the first one. */
  z.object({ state: z.literal('current'), checked_at: z.number().nullable() }),
  z.object({ state: z.literal('checking') }),
  z.object({ state: z.literal('available'), ...newVersion }),
  z.object({ state: z.literal('downloading'), ...newVersion, bytes: z.number(), total_bytes: z.number() }),
  /** `waits_for_jobs`: the app restarts when no job of this computer's orchestrator is running. */
  z.object({ state: z.literal('ready'), ...newVersion, waits_for_jobs: z.boolean() }),
  z.object({
    state: z.literal('failed'),
    step: z.enum(['check', 'download', 'install']),
    problem: UpdateProblem,
    detail: z.string(),
  }),
]);
export type AppUpdate = z.output<typeof AppUpdate>;

/** Settings of the app. Contains no tokens, only how they are stored. */
const DesktopView = z.object({
  fleets: z.array(Fleet),
  /** Fleet that the window shows; null for this computer's own fleet. */
  shown: FleetId.nullable(),
  /** Why the app cannot reach that fleet's orchestrator; null when it can. */
  trouble: z.string().nullable(),
  /** Whether this computer runs its own orchestrator. */
  runs_own: z.boolean(),
  notices: NoticeKinds,
  /** Whether the app starts when the user logs in; null when the platform has no such setting. */
  open_at_login: z.boolean().nullable(),
  /** Whether the platform's keyring encrypts stored tokens. */
  has_keyring: z.boolean(),
  /** Version of the app. */
  version: z.string(),
  /** Null when this build has no update feed. */
  update: AppUpdate.nullable(),
});
export type DesktopView = z.output<typeof DesktopView>;

const DesktopChange = z.strictObject({
  notices: NoticeKinds.partial().optional(),
  open_at_login: z.boolean().optional(),
  runs_own: z.boolean().optional(),
});

/** A token: a single printable word that fits into a header. */
const Token = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{1,512}$/, 'a token is one word of printable characters');

const NewFleet = z.strictObject({
  name: Line.trim().min(1, 'a name is required').max(100),
  url: z.string().trim().max(500),
  token: Token,
  pin: z.string().trim().max(200).nullable(),
});
export type NewFleet = z.output<typeof NewFleet>;

/** Omitted fields keep their values. */
const FleetChange = z.strictObject({ id: FleetId, ...NewFleet.partial().shape });

/** State of a laptop's battery; `level` is 0 to 1. */
export const Battery = z.object({ charging: z.boolean(), level: z.number().min(0).max(1) });
export type Battery = z.output<typeof Battery>;

const request = <N extends string, I extends z.ZodType>(name: N, input: I) =>
  z.object({ name: z.literal(name), input });

/** A request from the panel to the app that shows it. The answer is a `DesktopAnswer`. */
export const DesktopRequest = z.discriminatedUnion('name', [
  request('view', z.undefined()),
  request('change', DesktopChange),
  request('add_fleet', NewFleet),
  request('change_fleet', FleetChange),
  request('remove_fleet', FleetId),
  /** Shows a fleet, and reloads the page; null for this computer's own fleet. */
  request('show', FleetId.nullable()),
  /** Starts a step of an update of the app. The answer comes before the step ends; later views show its progress. */
  request('update', z.enum(['check', 'download', 'install'])),
]);
export type DesktopRequest = z.output<typeof DesktopRequest>;
export type UpdateStep = Extract<DesktopRequest, { name: 'update' }>['input'];
export type DesktopChange = z.output<typeof DesktopChange>;
export type FleetChange = z.output<typeof FleetChange>;

export type DesktopAnswer =
  | { readonly ok: true; readonly view: DesktopView }
  | { readonly ok: false; readonly detail: string };

/** Type of `window.desktop`, which exists only in the app. It has only functions that a page cannot implement itself. */
export interface DesktopApi {
  readonly view: () => Promise<DesktopAnswer>;
  readonly change: (change: DesktopChange) => Promise<DesktopAnswer>;
  readonly addFleet: (fleet: NewFleet) => Promise<DesktopAnswer>;
  readonly changeFleet: (change: FleetChange) => Promise<DesktopAnswer>;
  readonly removeFleet: (id: string) => Promise<DesktopAnswer>;
  readonly show: (id: string | null) => Promise<DesktopAnswer>;
  readonly update: (step: UpdateStep) => Promise<DesktopAnswer>;
  /**
   * Calls `go` with the path of a page when a link, a notification or the menu requests that page. Returns a function that
   * unsubscribes.
   */
  readonly onGo: (go: (path: string) => void) => () => void;
}
