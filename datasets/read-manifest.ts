import { createReadStream } from 'node:fs';
import { createManifestReader, type Manifest } from '../protocol/dataset.ts';

/** Reads a manifest from a file in pieces, so that it does not block the event loop. Rejects when the disk cannot be read. */
export async function readManifest(path: string): Promise<Manifest> {
  const reader = createManifestReader();
  const text: AsyncIterable<string> = createReadStream(path, 'utf8');
  for await (const piece of text) reader.push(piece);
  return reader.end();
}
