import type { Messages } from '../en/index.ts';
import { frame } from './frame.ts';
import { overview } from './overview.ts';
import { workers } from './workers.ts';
import { jobs } from './jobs.ts';
import { logs } from './logs.ts';
import { curves } from './curves.ts';
import { files } from './files.ts';
import { queue } from './queue.ts';
import { data } from './data.ts';
import { audit } from './audit.ts';
import { settings } from './settings.ts';
import { tokens } from './tokens.ts';
import { backups } from './backups.ts';
import { help } from './help.ts';
import { desktop } from './desktop.ts';

export const zh: Messages = {
  ...frame,
  ...overview,
  ...workers,
  ...jobs,
  ...logs,
  ...curves,
  ...files,
  ...queue,
  ...data,
  ...audit,
  ...settings,
  ...tokens,
  ...backups,
  ...help,
  ...desktop,
};
