import type { RemoteSpec } from '../remote-command.ts';
import { create } from './create.ts';
import { remove } from './delete.ts';
import { drain, undrain, unquarantine } from './drain.ts';
import { get } from './get.ts';
import { join } from './join.ts';
import { label } from './label.ts';
import { list } from './list.ts';
import { rename } from './rename.ts';
import { rotate } from './rotate.ts';
import { watch } from './watch.ts';

/** Subcommands of `trainyard workers`, in the order of the help. */
export const workerCommands: readonly RemoteSpec[] = [
  list,
  get,
  create,
  join,
  label,
  rename,
  drain,
  undrain,
  unquarantine,
  rotate,
  remove,
  watch,
];
