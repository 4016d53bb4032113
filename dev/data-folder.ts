import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Deletes what a server has left in its folder. Throws when one still works on it, and when it is no such folder. */
export async function clearFolder(dataDir: string): Promise<void> {
  if (!existsSync(dataDir) || readdirSync(dataDir).length === 0) return;
  if (!existsSync(join(dataDir, 'trainyard.db')))
    throw new Error(`${dataDir} holds no database of a server: nothing is deleted there`);
  const urlFile = join(dataDir, 'url');
  if (existsSync(urlFile)) {
    // One that has crashed has left it behind, and does not answer.
    const answer = await fetch(`${readFileSync(urlFile, 'utf8').trim()}/health/live`).catch(() => null);
    if (answer !== null) throw new Error(`A server works on ${dataDir}: end that one first`);
  }
  rmSync(dataDir, { recursive: true });
}
