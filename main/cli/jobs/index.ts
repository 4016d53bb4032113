import type { RemoteSpec } from '../remote-command.ts';
import { cancel, release } from './cancel.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { submit } from './submit.ts';
import { watch } from './watch.ts';

/** `trainyard jobs ...`, in the order of the help. */
export const jobCommands: readonly RemoteSpec[] = [submit, list, get, cancel, release, watch];
