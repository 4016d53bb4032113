import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * Starts a reaper. At the end of this process, the reaper kills all processes whose owner (see `ownerVariable`) starts with
 * `prefix`. It then removes all folders whose path starts with `prefix`. The returned function ends the processes and removes
 * the folders immediately.
 */
export function reapAtEnd(prefix: string): () => void {
  const reaper = spawn(process.execPath, [fileURLToPath(new URL('reaper.ts', import.meta.url)), prefix], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.unref();
  const { stdin } = reaper;
  stdin.on('error', () => {});
  // The pipe does not keep this process alive.
  if (stdin instanceof Socket) stdin.unref();
  return () => stdin.end();
}
