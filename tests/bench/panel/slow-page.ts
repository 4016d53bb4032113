/** Measures how long each page takes to open on a slow machine, which Chromium simulates. */
import type { BrowserContext, Page } from '@playwright/test';
import { type Line, percentile } from '../figures.ts';
import { evaluate, waitUntil } from './page-calls.ts';
import type { LargeServer } from './server.ts';

/** Times in ms since the start of the navigation. */
interface OpenTimes {
  /** The navigation has been painted, and the main thread can handle a click. */
  readonly interactiveAt: number;
  /** The page has been painted with all its content. */
  readonly loadedAt: number;
}

const runs = 3;
/** Factor by which Chromium slows the page down. Lighthouse uses the same factor for phones. */
const slowdown = 4;

/** Opens a page in a new tab with a slow processor. After a first visit, the browser's cache contains the files of the panel. */
async function openSlowly(context: BrowserContext, server: LargeServer, path: string): Promise<OpenTimes> {
  const page = await context.newPage();
  try {
    await throttle(page);
    await page.goto(server.url + path, { waitUntil: 'commit' });
    await waitUntil(page, 'bench.opened() !== null');
    return await evaluate<OpenTimes>(page, 'bench.opened()');
  } finally {
    await page.close();
  }
}

async function throttle(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
}

/** Measures each path. The first visit of each path fills the cache and does not count. */
export async function measureSlowPages(
  context: BrowserContext,
  server: LargeServer,
  paths: readonly string[],
): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const path of paths) {
    await openSlowly(context, server, path);
    const times: OpenTimes[] = [];
    for (let run = 0; run < runs; run += 1) times.push(await openSlowly(context, server, path));
    const medianOf = (key: keyof OpenTimes): number =>
      percentile(
        times.map(time => time[key]),
        0.5,
      );
    lines.push(
      {
        what: `${path}: interactive, CPU ${slowdown} x slower`,
        figure: medianOf('interactiveAt'),
        unit: 'ms',
        atMost: 500,
      },
      { what: `${path}: complete, CPU ${slowdown} x slower`, figure: medianOf('loadedAt'), unit: 'ms' },
    );
  }
  return lines;
}
