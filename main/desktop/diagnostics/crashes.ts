import { app, crashReporter } from 'electron';
import type { ScopedLog } from '../../host/log.ts';
import { removeOldDumps } from './dumps.ts';

/**
 * Stores a dump of each crash of an app process on this computer, and keeps the newest five dumps. Call it after the app's data
 * folder is set.
 */
export function storeCrashDumps(): void {
  crashReporter.start({ uploadToServer: false });
  removeOldDumps(app.getPath('crashDumps'));
}

/** Logs each process of the app that ends unexpectedly, and each unhandled error of this process. */
export function logCrashes(log: ScopedLog): void {
  app.on('child-process-gone', (_event, { type, name, reason, exitCode }) => {
    if (reason !== 'clean-exit')
      log.error('desktop.process_lost', { type, name: name ?? null, reason, exit_code: exitCode });
  });
  process.on('uncaughtExceptionMonitor', cause => log.error('desktop.error_unhandled', { cause }));
}
