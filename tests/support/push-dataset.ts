import { createHash } from 'node:crypto';
import { manifestText } from '../../protocol/dataset.ts';
import type { DatasetView } from '../../protocol/datasets-api.ts';

interface Server {
  readonly url: string;
  readonly token: string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Stores texts as the files of a new dataset version. `texts`: the content of each file, by path. */
export async function pushDataset(
  server: Server,
  name: string,
  texts: Readonly<Record<string, string>>,
): Promise<DatasetView> {
  const files = Object.entries(texts)
    .map(([path, text]) => ({ path, bytes: Buffer.byteLength(text), sha256: sha256(text) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const manifest = manifestText(files);
  for (const text of new Set([...Object.values(texts), manifest]))
    await send(server, 'PUT', `/api/datasets/contents/${sha256(text)}`, text);
  const body = JSON.stringify({ name, version: sha256(manifest), pinned: false });
  const response = await send(server, 'POST', '/api/datasets', body, 'application/json');
  return (await response.json()) as DatasetView;
}

async function send(
  { url, token }: Server,
  method: string,
  path: string,
  body: string,
  type = 'application/octet-stream',
): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': type };
  const response = await fetch(url + path, { method, headers, body });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}
