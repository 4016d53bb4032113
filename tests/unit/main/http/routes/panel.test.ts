import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { servePanel } from '../../../../../main/http/routes/panel.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';

test('serves the panel from a path with a hidden folder, and returns 404 for a missing script', async () => {
  const folder = join(openFolder(), '.local/share/trainyard');
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), '<title>Trainyard</title>');
  writeFileSync(join(folder, 'assets/index.js'), '1');
  const app = express();
  servePanel(app, folder);
  const server = app.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const texts = ['/', '/workers/w_1', '/assets/index.js'].map(async path => (await fetch(url + path)).text());
  expect(await Promise.all(texts)).toEqual(['<title>Trainyard</title>', '<title>Trainyard</title>', '1']);
  const missing = await fetch(`${url}/assets/index-of-an-older-build.js`);
  expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, null]);
});
