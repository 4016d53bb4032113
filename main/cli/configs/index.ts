import type { RemoteSpec } from '../remote-command.ts';
import { remove } from './delete.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { put } from './put.ts';

/** Subcommands of `trainyard configs`, in the order of the help. */
export const configCommands: readonly RemoteSpec[] = [list, get, put, remove];
