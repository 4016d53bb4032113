import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Deletes a server's data folder. Throws when a server still uses it, or when it is not a data folder. */
export async function clearFolder(dataDir: string): Promise<void> {
  if (!existsSync(dataDir) || readdirSync(dataDir).length === 0) return;
  if (!existsSync(join(dataDir, 'trainyard.db')))
    throw new Error(`${dataDir} holds no database of a server: nothing is deleted there`);
  const urlFile = join(dataDir, 'url');
  if (existsSync(urlFile)) {
    // A crashed server leaves the file behind, but does not answer.
    const answer = await fetch(`${readFileSync(urlFile, 'utf8').trim()}/health/live`).catch(() => null);
    if (answer !== null) throw new Error(`A server works on ${dataDir}: end that one first`);
  }
  rmSync(dataDir, { recursive: true });
}
