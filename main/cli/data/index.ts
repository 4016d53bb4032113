import type { RemoteSpec } from '../remote-command.ts';
import { list } from './list.ts';
import { pin } from './pin.ts';
import { prune } from './prune.ts';
import { push } from './push-command.ts';

/** Subcommands of `trainyard data`, in the order of the help. */
export const dataCommands: readonly RemoteSpec[] = [list, push, pin, prune];
