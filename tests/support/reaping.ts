import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * From now on all processes whose owner begins with this path (see `ownerVariable`) end at the latest with this process,
 * and the folders whose path begins so are gone soon after. The answer ends that at once.
 */
export function reapAtEnd(prefix: string): () => void {
  const reaper = spawn(process.execPath, [fileURLToPath(new URL('reaper.ts', import.meta.url)), prefix], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.unref();
  const { stdin } = reaper;
  stdin.on('error', () => {});
  // Its being there keeps nobody.
  if (stdin instanceof Socket) stdin.unref();
  return () => stdin.end();
}
