import type { RemoteSpec } from '../remote-command.ts';
import { create } from './create.ts';
import { list } from './list.ts';
import { revoke } from './revoke.ts';

/** Subcommands of `trainyard tokens`, in the order of the help. */
export const tokenCommands: readonly RemoteSpec[] = [list, create, revoke];
