import type { RemoteSpec } from '../remote-command.ts';
import { create } from './create.ts';
import { list } from './list.ts';
import { restore } from './restore.ts';

/** Subcommands of `trainyard backup`, in the order of the help. */
export const backupCommands: readonly RemoteSpec[] = [list, create, restore];
