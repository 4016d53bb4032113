import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemApi } from '../../protocol/admin-api.ts';
import { createClient } from '../../protocol/client.ts';
import { readSecret } from '../host/data-folder.ts';
import { challenge } from '../server-proof.ts';

/** The server of the folder, if it proves that it is the one. A program on the port of a killed server does not. */
export async function findRunning(
  dataDir: string,
): Promise<{ readonly url: string; readonly token: string } | null> {
  const [urlFile, tokenFile] = [join(dataDir, 'url'), join(dataDir, 'admin-token')];
  if (!existsSync(urlFile) || !existsSync(tokenFile)) return null;
  // Who could write it would be sent the token.
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
