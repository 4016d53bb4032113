import type { RemoteSpec } from '../remote-command.ts';
import { cleanup } from './cleanup.ts';
import { limits } from './limits.ts';
import { pause, resume } from './pause.ts';
import { stats } from './stats.ts';
import { status } from './status.ts';

/** Subcommands of `trainyard queue`, in the order of the help. */
export const queueCommands: readonly RemoteSpec[] = [status, pause, resume, limits, cleanup, stats];
