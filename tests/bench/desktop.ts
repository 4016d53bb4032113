/**
 * Measures the app's main process, which contains the orchestrator, while a user works with the app: the delay of its event loop,
 * and the response times of heartbeats. Uses Electron 33 from the npm registry, so it needs Linux x64 and a display or Xvfb.
 */
import { rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { openDisplay } from '../support/desktop/display.ts';
import { fetchElectron33 } from '../support/desktop/electron-33.ts';
import { type MeasuredApp, startMeasuredApp } from './desktop/app.ts';
import { entryWith, writeSqliteForNode20 } from './desktop/entry.ts';
import { type BusyFleet, startBusyFleet } from './desktop/fleet.ts';
import { type Scene, scenes } from './desktop/scenes.ts';
import { type Line, percentile } from './figures.ts';
import { buildServer, createBenchFolder } from './program.ts';

const sceneMs = 10_000;
const settleMs = 2_000;
const maxDelayMs = 20;

export async function measureDesktop(): Promise<readonly Line[]> {
  const folder = createBenchFolder();
  const display = await openDisplay();
  try {
    const dist = await fetchElectron33(line => console.log(line)).catch((cause: unknown) => {
      console.log(String(cause));
      return null;
    });
    const sqlite = dist === null ? null : writeSqliteForNode20(folder);
    if (dist === null || display.name === null || sqlite === null) {
      console.log(`desktop: skipped, because ${reasonOf(dist, display.name)}`);
      return [];
    }
    buildServer();
    process.env['DISPLAY'] = display.name;
    const app = await startMeasuredApp({
      electron: dist,
      entry: entryWith(sqlite),
      folder,
      display: display.name,
    });
    try {
      return await measureScenes(app);
    } finally {
      app.kill();
    }
  } finally {
    display.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function reasonOf(dist: string | null, display: string | null): string {
  if (dist === null) return 'there is no Electron 33 for this machine';
  if (display === null) return 'there is no display, and no Xvfb (apt-get install xvfb)';
  return 'the code of better-sqlite3 has changed, so Electron 33 cannot load it';
}

async function measureScenes(app: MeasuredApp): Promise<readonly Line[]> {
  const fleet = await startBusyFleet(app);
  const lines: Line[] = [];
  for (const scene of scenes) {
    const missing = scene.missing();
    if (missing === null) lines.push(...(await measureScene(scene, app, fleet)));
    else console.log(`desktop, ${scene.what}: skipped, because ${missing}`);
  }
  fleet.close();
  return lines;
}

async function measureScene(
  { what, prepare }: Scene,
  app: MeasuredApp,
  fleet: BusyFleet,
): Promise<readonly Line[]> {
  const act = await prepare(app, fleet);
  await setTimeout(settleMs);
  fleet.takeTimes();
  const controller = new AbortController();
  await app.resetDelay();
  const activity = act(controller.signal);
  await setTimeout(sceneMs);
  const delay = await app.readDelay();
  const times = fleet.takeTimes();
  controller.abort();
  await activity;
  return [
    { what: `${what}: event loop delay, p99`, figure: delay.p99, unit: 'ms', atMost: maxDelayMs },
    { what: '  p50', figure: delay.p50, unit: 'ms' },
    { what: '  max', figure: delay.max, unit: 'ms' },
    { what: '  heartbeats answered', figure: times.length, unit: '' },
    { what: '  response to a heartbeat, p50', figure: percentile(times, 0.5), unit: 'ms' },
    { what: '  p99', figure: percentile(times, 0.99), unit: 'ms' },
  ];
}
