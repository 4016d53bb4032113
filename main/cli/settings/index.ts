import type { RemoteSpec } from '../remote-command.ts';
import { get } from './get.ts';
import { set } from './set.ts';

/** Subcommands of `trainyard settings`, in the order of the help. */
export const settingsCommands: readonly RemoteSpec[] = [get, set];
