/** `npm run clients`: generates the Python client from the server's OpenAPI document. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../server.ts';
import { pythonClient } from './python.ts';

const root = join(import.meta.dirname, '../..');
const dataDir = mkdtempSync(join(tmpdir(), 'trainyard-clients-'));
const server = startServer({ root, dataDir, env: process.env, log: line => console.error(line) });
try {
  const response = await fetch(new URL('/openapi.json', await server.url));
  const readPart = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
  const text = pythonClient(await response.json(), {
    runtime: readPart('runtime.py'),
    facade: readPart('facade.py'),
  });
  writeFileSync(join(root, 'clients/python/trainyard.py'), text);
} finally {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
