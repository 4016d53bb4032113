import type { RemoteSpec } from '../remote-command.ts';
import { exportAll } from './export.ts';
import { list, ofUser, security } from './list.ts';
import { stats } from './stats.ts';
import { verify } from './verify.ts';

/** Subcommands of `trainyard audit`, in the order of the help. */
export const auditCommands: readonly RemoteSpec[] = [list, ofUser, security, verify, stats, exportAll];
