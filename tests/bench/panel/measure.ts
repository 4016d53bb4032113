import type { BrowserContext, Page } from '@playwright/test';
import { type Line, percentile, percentileLines } from '../figures.ts';
import { callAsAdmin, type Probes, report, startLoad } from './load.ts';
import { evaluate, waitUntil } from './page-calls.ts';
import type { LargeServer } from './server.ts';

/** Times of a page load in ms since the navigation, and the size of the first table's data. `longestTask` is a duration. */
interface LoadTimes {
  readonly dataAt: number;
  readonly bytes: number;
  readonly longestTask: number;
  readonly tableAt: number;
  readonly liveAt: number | null;
}

const runs = 3;

/**
 * Measures the time from the last byte of the first table's data until the table is painted. Each run uses a new tab.
 */
export async function measureFirstTable(
  context: BrowserContext,
  server: LargeServer,
  path: string,
): Promise<readonly Line[]> {
  const results: LoadTimes[] = [];
  for (let run = 0; run < runs; run += 1) {
    const page = await context.newPage();
    await page.goto(server.url + path);
    await waitUntil(page, 'bench.loaded() !== null');
    results.push(await evaluate<LoadTimes>(page, 'bench.loaded()'));
    await page.close();
  }
  const [first] = results;
  const delays = results.map(({ dataAt, tableAt }) => tableAt - dataAt);
  return [
    {
      what: `${path}: data received to first table painted`,
      figure: percentile(delays, 0.5),
      unit: 'ms',
      atMost: 500,
    },
    { what: `${path}: the same, worst of ${runs}`, figure: Math.max(...delays), unit: 'ms' },
    {
      what: `${path}: size of the first table's data`,
      figure: (first?.bytes ?? Number.NaN) / 1024,
      unit: 'KB',
    },
    {
      what: `${path}: longest task before the first table`,
      figure: Math.max(...results.map(result => result.longestTask)),
      unit: 'ms',
    },
  ];
}

/**
 * The times when a change happened, arrived, appeared and was painted, in ms of the wall clock. `name`: the number in the
 * change.
 */
interface Mark {
  readonly name: string;
  readonly eventAt?: number;
  readonly gotAt?: number;
  readonly shownAt?: number;
  readonly paintedAt?: number;
}
interface ObservedChanges {
  readonly marks: readonly Mark[];
  readonly events: number;
  readonly ms: number;
  readonly tasks: readonly number[];
}

const observedMs = 12_000;

/** Measures the delay of changes on the jobs page: reports progress of the first visible jobs. */
export async function measureJobs(page: Page, server: LargeServer): Promise<readonly Line[]> {
  await navigate(page, '/jobs?q=state:running');
  const ids = await evaluate<string[]>(
    page,
    `[...document.querySelectorAll('[data-row] a[href^="/jobs/"]')].map(link => link.pathname.slice(6))`,
  );
  const visibleJobs = server.running.filter(({ jobId }) => ids.slice(0, 8).includes(jobId));
  let next = 0;
  return measureChanges(page, server, '/jobs', 'progress', async mark => {
    const job = visibleJobs[next % visibleJobs.length];
    next += 1;
    return job !== undefined && report(server, job, mark);
  });
}

/** Measures the delay of changes on the workers page: renames the first workers. */
export async function measureWorkers(page: Page, server: LargeServer): Promise<readonly Line[]> {
  await navigate(page, '/workers');
  const ids = await evaluate<string[]>(
    page,
    `[...document.querySelectorAll('[data-row] .worker-name')].map(link => link.pathname.slice(9))`,
  );
  let next = 0;
  return measureChanges(page, server, '/workers', 'name', async mark => {
    const id = ids[next % 8];
    next += 1;
    await callAsAdmin(server, 'PATCH', `/api/admin/workers/${id}`, { name: `marked ${mark}` });
    return true;
  });
}

/** Measures the time from the first table until the panel has loaded all active jobs. */
export async function measureFullLoad(page: Page, server: LargeServer): Promise<readonly Line[]> {
  await page.goto(`${server.url}/jobs`);
  await waitUntil(page, 'bench.loaded()?.liveAt != null');
  const { tableAt, liveAt } = await evaluate<LoadTimes>(page, 'bench.loaded()');
  const rest = (liveAt ?? Number.NaN) - tableAt;
  return [{ what: '/jobs: first table to all active jobs loaded', figure: rest, unit: 'ms' }];
}

/** Navigates without a reload, as a link does, so that the panel keeps its data in memory. */
async function navigate(page: Page, path: string): Promise<void> {
  const name = path.slice(1).split('?', 1)[0] ?? '';
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
  await waitUntil(
    page,
    `document.querySelector('.${name}-page [role=gridcell], .${name} [role=gridcell]') !== null`,
  );
}

async function measureChanges(
  page: Page,
  server: LargeServer,
  path: string,
  kind: 'progress' | 'name',
  probe: (mark: number) => Promise<boolean>,
): Promise<readonly Line[]> {
  await page.evaluate(`bench.watch('${kind}')`);
  const load = startLoad(server, probe);
  await page.waitForTimeout(observedMs);
  const { probes, failed } = await load.stop();
  await page.waitForTimeout(500);
  const { marks, events, ms, tasks } = await evaluate<ObservedChanges>(page, 'bench.watched()');
  const times = timesOf(marks, probes);
  return [
    { what: `${path}: events per second`, figure: (events / ms) * 1_000, unit: '/s' },
    {
      what: `${path}: expected changes not shown`,
      figure: probes.size - times.length,
      unit: '',
    },
    { what: `${path}: failed calls`, figure: failed, unit: '' },
    ...percentileLines(
      `${path}: event to change in the page`,
      times.map(time => time.shown),
      250,
    ),
    ...percentileLines(
      `${path}: event to change painted`,
      times.map(time => time.painted),
    ),
    ...percentileLines(
      `${path}: event to a bare stream in the same page`,
      times.map(time => time.floor),
    ),
    ...percentileLines(
      `${path}: response to change in the page`,
      times.map(time => time.afterAnswer),
    ),
    { what: `${path}: longest task during these events`, figure: Math.max(0, ...tasks), unit: 'ms' },
  ];
}

function timesOf(marks: readonly Mark[], probes: Probes) {
  return marks.flatMap(({ name, eventAt, gotAt, shownAt, paintedAt }) => {
    const probe = probes.get(name);
    if (probe === undefined || eventAt === undefined || gotAt === undefined) return [];
    if (shownAt === undefined || paintedAt === undefined) return [];
    return [
      {
        shown: shownAt - eventAt,
        painted: paintedAt - eventAt,
        floor: gotAt - eventAt,
        afterAnswer: shownAt - probe.answeredAt,
      },
    ];
  });
}

interface ScrollResult {
  readonly frames: number;
  readonly maxRows: number;
  readonly longestGap: number;
  readonly ms: number;
  readonly tasks: readonly number[];
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** The duration in microseconds. */
  readonly dur?: number;
  /** Processor time of the thread in microseconds, which other work on the machine does not affect. */
  readonly tdur?: number;
}

/** A task of the main thread: its wall time and its processor time, both in milliseconds. */
interface Task {
  readonly wall: number;
  readonly processor: number;
}

/** Starts tracing the tasks of the page's main thread. The returned function stops tracing and returns the tasks. */
async function traceTasks(page: Page): Promise<() => Promise<readonly Task[]>> {
  const devtools = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  devtools.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const traceConfig = { includedCategories: ['toplevel', 'devtools.timeline'], excludedCategories: ['*'] };
  await devtools.send('Tracing.start', { traceConfig });
  return async () => {
    const complete = new Promise<void>(resolve => devtools.once('Tracing.tracingComplete', () => resolve()));
    await devtools.send('Tracing.end');
    await complete;
    await devtools.detach();
    // The main thread of the visible page computes the most styles, so these events identify that thread.
    const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
    const styleEvents = events.filter(({ name }) => name === 'UpdateLayoutTree');
    const byThread = [...Map.groupBy(styleEvents, threadOf)];
    const [mainThread] = byThread.toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
    return events
      .filter(event => event.name.endsWith('RunTask') && threadOf(event) === mainThread)
      .map(({ dur = 0, tdur = 0 }) => ({ wall: dur / 1_000, processor: tdur / 1_000 }));
  };
}

/**
 * Minimum distance of one turn of the wheel in pixels, about one and a half screens. The distance is larger for a table that
 * would otherwise need more than `maxTurns`.
 */
const minPixels = 1_000;
const maxTurns = 150;
/** Time in ms after which the rest is scrolled in a few large steps, because the machine is busy. */
const slowScrollMs = 15_000;

/** Scrolls with the wheel from the first row to the last one. */
async function scrollThrough(page: Page): Promise<ScrollResult> {
  const height = await evaluate<number>(page, `document.querySelector('.table-scroll').scrollHeight`);
  const pixels = Math.max(minPixels, height / maxTurns);
  await page.mouse.move(640, 500);
  await page.evaluate('bench.startScrolling()');
  const scrollFasterAt = performance.now() + slowScrollMs;
  while (!(await evaluate<boolean>(page, 'bench.isAtEnd()')))
    await page.mouse.wheel(0, performance.now() < scrollFasterAt ? pixels : height / 10);
  return evaluate<ScrollResult>(page, 'bench.endScrolling()');
}

/** Measures scrolling while workers send reports. Traces only a second pass, because tracing itself takes time. */
export async function measureScrolling(
  page: Page,
  server: LargeServer,
  path: string,
): Promise<readonly Line[]> {
  await navigate(page, path);
  const rows = await evaluate<number>(page, `Number(document.querySelector('[role=grid]').ariaRowCount) - 1`);
  const load = startLoad(server, () => Promise.resolve(true));
  const { frames, maxRows, longestGap, ms, tasks } = await scrollThrough(page);
  // Leave the page and return to it, which scrolls back to the first row.
  await navigate(page, path === '/jobs' ? '/workers' : '/jobs');
  await navigate(page, path);
  const endTrace = await traceTasks(page);
  await scrollThrough(page);
  const traced = await endTrace();
  await load.stop();
  const processor = traced.map(task => task.processor);
  const long = traced.filter(({ wall }) => wall > 50);
  return [
    { what: `${path}: rows scrolled`, figure: rows, unit: 'rows' },
    { what: `${path}: scroll time`, figure: ms, unit: 'ms' },
    { what: `${path}: frames per second`, figure: (frames / ms) * 1_000, unit: '/s' },
    // These two lines are wall time, which includes other processes of the machine. The processor time of the page follows.
    { what: `${path}: tasks over 50 ms`, figure: tasks.length, unit: '', atMost: 0 },
    {
      what: `${path}: longest task (0: none over 50 ms)`,
      figure: Math.max(0, ...tasks),
      unit: 'ms',
      atMost: 50,
    },
    {
      what: `${path}: longest task in CPU time`,
      figure: Math.max(0, ...processor),
      unit: 'ms',
      atMost: 50,
    },
    {
      what: `${path}: tasks over 50 ms of CPU time`,
      figure: processor.filter(time => time > 50).length,
      unit: '',
      atMost: 0,
    },
    { what: `${path}: tasks over 50 ms during the scroll`, figure: long.length, unit: '' },
    {
      what: `${path}: highest CPU time of such a task`,
      figure: Math.max(0, ...long.map(task => task.processor)),
      unit: 'ms',
    },
    { what: `${path}: longest gap between two timer callbacks`, figure: longestGap, unit: 'ms' },
    { what: `${path}: most rows in the page`, figure: maxRows, unit: 'rows', atMost: 60 },
  ];
}

/** Measures how long the browser takes to parse the longest response, without validating it. */
export async function measureParsing(page: Page): Promise<readonly Line[]> {
  const { bytes, ms } = await evaluate<{ bytes: number; ms: number }>(
    page,
    `bench.parseMs('/api/admin/workers')`,
  );
  return [
    { what: 'worker list: size', figure: bytes / 1024, unit: 'KB' },
    { what: 'worker list: JSON.parse', figure: ms, unit: 'ms' },
  ];
}
