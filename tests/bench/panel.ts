/**
 * Measures the panel with a large fleet: a real server on loopback with a filled store, and a real Chromium. Prints a table and
 * writes it as JSON. The figures depend on the machine, so none of them makes the run fail. The delay of a change counts from the
 * server's timestamp of its event. `--out DIR`: folder for `panel.json`; by default, a new temporary folder.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BrowserContext, chromium, type Page } from '@playwright/test';
import { pages } from '../../renderer/app/pages.ts';
import config, { chromium as chromiumPath } from '../../playwright.config.ts';
import { firstPageFiles, gzipBytes } from '../support/first-page.ts';
import { type Line, tableOf } from './figures.ts';
import { callAsAdmin } from './panel/load.ts';
import { createBenchFolder, buildServer, root } from './program.ts';
import {
  measureFirstTable,
  measureJobs,
  measureParsing,
  measureScrolling,
  measureFullLoad,
  measureWorkers,
} from './panel/measure.ts';
import type { Scale } from '../support/large-fleet.ts';
import { type LargeServer, startLargeServer } from './panel/server.ts';
import { measureSlowPages } from './panel/slow-page.ts';

/** A fleet of the size that most users have. */
const smallScale = { workers: 10, pending: 5, running: 5, ended: 110 };
const scale = { workers: 5_000, pending: 10_000, running: 2_000, ended: 88_000 };

/** All pages of the navigation except the settings and the help. */
const listPages = pages.map(({ path }) => path).filter(path => !['/settings', '/help'].includes(path));

const measureSmall = (server: LargeServer): Promise<readonly Line[]> =>
  withBrowser(server, async context => {
    const lines = await measureSlowPages(context, server, listPages);
    return lines.map(line => ({ ...line, what: `${smallScale.workers} workers, ${line.what}` }));
  });

const measure = (server: LargeServer): Promise<readonly Line[]> =>
  withBrowser(server, async (context, page) => {
    const lines: Line[] = [...(await measureSlowPages(context, server, listPages))];
    for (const path of ['/workers', '/jobs', '/'])
      lines.push(...(await measureFirstTable(context, server, path)));
    lines.push(...(await measureFullLoad(page, server)));
    lines.push(...(await measureParsing(page)));
    lines.push(...(await measureJobs(page, server)));
    lines.push(...(await measureWorkers(page, server)));
    for (const path of ['/workers', '/jobs']) lines.push(...(await measureScrolling(page, server, path)));
    return lines;
  });

/** Opens a browser, signs in, and measures in it. Closes the browser afterwards. */
async function withBrowser(
  server: LargeServer,
  measureIn: (context: BrowserContext, page: Page) => Promise<readonly Line[]>,
): Promise<readonly Line[]> {
  const browser = await chromium.launch({ ...config.use?.launchOptions });
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en' });
    await context.addInitScript({ content: recorderScript() });
    return await measureIn(context, await signIn(context, server));
  } finally {
    await browser.close();
  }
}

/**
 * Returns the script that records times in the measured page. The script imports nothing, because it runs in the page and not in
 * Node.
 */
const recorderScript = (): string =>
  stripTypeScriptTypes(readFileSync(join(root, 'tests/bench/panel/page/recorder.ts'), 'utf8'));

async function signIn(context: BrowserContext, server: LargeServer): Promise<Page> {
  const { path } = (await callAsAdmin(server, 'POST', '/api/session/link', {})) as { readonly path: string };
  const page = await context.newPage();
  await page.goto(server.url + path);
  await page.getByRole('navigation').waitFor();
  return page;
}

async function measureServer(
  size: Scale,
  measureOn: (server: LargeServer) => Promise<readonly Line[]>,
): Promise<readonly Line[]> {
  const server = await startLargeServer(size);
  try {
    return await measureOn(server);
  } finally {
    await server.close();
  }
}

async function main(): Promise<void> {
  if (chromiumPath === null) {
    console.log('Skipped the panel: there is no Chromium (on Debian: apt-get install chromium).');
    return;
  }
  const { out } = parseArgs({ options: { out: { type: 'string' } } }).values;
  buildServer();
  const startedAt = performance.now();
  const lines = [
    ...(await measureServer(smallScale, measureSmall)),
    ...(await measureServer(scale, measure)),
  ];
  const size: Line = {
    what: 'JavaScript of the first page, gzipped',
    figure: gzipBytes(firstPageFiles(join(root, 'dist/renderer'))) / 1024,
    unit: 'KB',
    atMost: 150,
  };
  const folder = out ?? createBenchFolder();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'panel.json');
  const machine = { processors: cpus().length, model: cpus()[0]?.model ?? null, node: process.version };
  writeFileSync(file, `${JSON.stringify({ scale, machine, figures: [...lines, size] }, null, 2)}\n`);
  console.log(
    `The panel with ${scale.workers} workers and ${scale.pending + scale.running + scale.ended} jobs ` +
      `(${scale.pending} pending, ${scale.running} running, ${scale.ended} ended); ` +
      `took ${Math.round((performance.now() - startedAt) / 1000)} s\n${tableOf([...lines, size])}${file}`,
  );
}

await main();
