import type { RemoteSpec } from '../remote-command.ts';
import { approve, reject } from './approval.ts';
import { save, sample } from './ask.ts';
import { artifacts } from './artifacts.ts';
import { cancel, release } from './cancel.ts';
import { checkpoints } from './checkpoints.ts';
import { remove } from './delete.ts';
import { download } from './download.ts';
import { get } from './get.ts';
import { giveUp } from './give-up.ts';
import { list } from './list.ts';
import { logs } from './logs.ts';
import { metrics } from './metrics.ts';
import { priority, top } from './priority.ts';
import { purge } from './purge.ts';
import { retry } from './retry.ts';
import { status } from './status.ts';
import { submit } from './submit.ts';
import { watch } from './watch.ts';
import { why } from './why.ts';

/** Subcommands of `trainyard jobs`, in the order of the help. */
export const jobCommands: readonly RemoteSpec[] = [
  submit,
  list,
  get,
  status,
  why,
  logs,
  metrics,
  artifacts,
  checkpoints,
  download,
  giveUp,
  priority,
  top,
  approve,
  reject,
  save,
  sample,
  cancel,
  release,
  retry,
  remove,
  purge,
  watch,
];
