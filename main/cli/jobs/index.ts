import type { RemoteSpec } from '../remote-command.ts';
import { edit } from './about.ts';
import { cancel, purge, release } from './cancel.ts';
import { approve, giveUp, priority, reject, remove, retry, sample, save, top } from './change.ts';
import { compare } from './compare.ts';
import { download } from './download.ts';
import { exportJob } from './export.ts';
import { artifacts, checkpoints } from './files.ts';
import { logs } from './logs.ts';
import { metrics } from './metrics.ts';
import { get, list, status } from './show.ts';
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
  compare,
  artifacts,
  checkpoints,
  download,
  exportJob,
  giveUp,
  edit,
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
