import { z } from 'zod';
import { Line } from './line.ts';

/** What the app may tell of while nobody looks at it. */
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
  /** Of its orchestrator. */
  url: z.string(),
  pin: z.string().nullable(),
  /** `plain`: the platform has nothing to seal it with. */
  token: z.enum(['sealed', 'plain']),
});

/** The app itself, as its settings show it. Of a token nothing but how it is kept. */
const DesktopView = z.object({
  fleets: z.array(Fleet),
  /** The fleet in the window; null for that of this computer. */
  shown: FleetId.nullable(),
  /** What keeps the app from the orchestrator of the one that is shown; null for nothing. */
  trouble: z.string().nullable(),
  /** Whether this computer runs an orchestrator of its own. */
  runs_own: z.boolean(),
  notices: NoticeKinds,
  /** Null where the platform has no such setting. */
  open_at_login: z.boolean().nullable(),
  /** Whether what is kept of tokens is sealed by the platform's keyring. */
  has_keyring: z.boolean(),
});
export type DesktopView = z.output<typeof DesktopView>;

const DesktopChange = z.strictObject({
  notices: NoticeKinds.partial().optional(),
  open_at_login: z.boolean().optional(),
  runs_own: z.boolean().optional(),
});

/** One printable word, as a header can carry it. */
const Token = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{1,512}$/, 'a token is one word of printable characters');

const NewFleet = z.strictObject({
  name: Line.trim().min(1, 'a name is needed').max(100),
  url: z.string().trim().max(500),
  token: Token,
  pin: z.string().trim().max(200).nullable(),
});
export type NewFleet = z.output<typeof NewFleet>;

/** What is left out stays as it is. */
const FleetChange = z.strictObject({ id: FleetId, ...NewFleet.partial().shape });

/** What a laptop's battery says of itself. */
export const Battery = z.object({ charging: z.boolean(), level: z.number().min(0).max(1) });
export type Battery = z.output<typeof Battery>;

const request = <N extends string, I extends z.ZodType>(name: N, input: I) =>
  z.object({ name: z.literal(name), input });

/** A call of the panel to the app around it. All are answered with a `DesktopAnswer`. */
export const DesktopRequest = z.discriminatedUnion('name', [
  request('view', z.undefined()),
  request('change', DesktopChange),
  request('add_fleet', NewFleet),
  request('change_fleet', FleetChange),
  request('remove_fleet', FleetId),
  /** Null for this computer's own. The page is loaded anew. */
  request('show', FleetId.nullable()),
]);
export type DesktopRequest = z.output<typeof DesktopRequest>;
export type DesktopChange = z.output<typeof DesktopChange>;
export type FleetChange = z.output<typeof FleetChange>;

export type DesktopAnswer =
  | { readonly ok: true; readonly view: DesktopView }
  | { readonly ok: false; readonly detail: string };

/** `window.desktop` in the panel, where that is shown by the app: what a page can not do by itself, and nothing else. */
export interface DesktopApi {
  readonly view: () => Promise<DesktopAnswer>;
  readonly change: (change: DesktopChange) => Promise<DesktopAnswer>;
  readonly addFleet: (fleet: NewFleet) => Promise<DesktopAnswer>;
  readonly changeFleet: (change: FleetChange) => Promise<DesktopAnswer>;
  readonly removeFleet: (id: string) => Promise<DesktopAnswer>;
  readonly show: (id: string | null) => Promise<DesktopAnswer>;
  /** Calls with the path of a page that was asked for outside of this one: by a link, a notification, the menu. The answer ends it. */
  readonly onGo: (go: (path: string) => void) => () => void;
}
