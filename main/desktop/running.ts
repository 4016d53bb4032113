import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemApi } from '../../protocol/admin-api.ts';
import { createClient } from '../../protocol/client.ts';
import { readSecret } from '../host/data-folder.ts';
import { challenge } from '../server-proof.ts';

/**
 * Finds the server of the data folder; null when there is none or it cannot prove its identity. A program that took over a dead
 * server's port fails the proof.
 */
export async function findRunning(
  dataDir: string,
): Promise<{ readonly url: string; readonly token: string } | null> {
  const [urlFile, tokenFile] = [join(dataDir, 'url'), join(dataDir, 'admin-token')];
  if (!existsSync(urlFile) || !existsSync(tokenFile)) return null;
  // Must not be writable by other users: whoever writes this file receives the token.
  const url = readSecret(urlFile);
  if (!/^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/.test(url)) return null;
  const token = readSecret(tokenFile);
  const client = createClient({ baseUrl: url, headers: () => ({}), timeoutMs: 2_000 });
  if (!(await client.call(systemApi.live)).ok) return null;
  try {
    await challenge({ url, dataDir, fetch });
    return { url, token };
  } catch {
    return null;
  }
}
