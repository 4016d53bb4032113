import type { RemoteSpec } from '../remote-command.ts';
import { list } from './list.ts';
import { revoke } from './revoke.ts';

/** Subcommands of `trainyard sessions`, in the order of the help. */
export const sessionCommands: readonly RemoteSpec[] = [list, revoke];
