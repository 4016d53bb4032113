import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * When this process ends, the reaper ends all processes whose owner starts with this path (see `ownerVariable`) and
 * removes the folders whose path starts with it. The returned function does this immediately.
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
