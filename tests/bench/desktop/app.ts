import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { _electron, type ElectronApplication, type Page } from '@playwright/test';
import { copyWithApp } from '../../support/desktop/electron-copy.ts';
import type { LoopDelay } from './entry.ts';

/** The app with its embedded orchestrator, which serves `url`. */
export interface MeasuredApp {
  readonly url: string;
  /** The data folder. */
  readonly folder: string;
  readonly electron: ElectronApplication;
  readonly page: Page;
  resetDelay(): Promise<void>;
  readDelay(): Promise<LoopDelay>;
  kill(): void;
}

interface AppOptions {
  readonly electron: string;
  readonly entry: string;
  readonly folder: string;
  readonly display: string;
}

interface MeasuredMain {
  readonly trainyardBench: { reset(): void; read(): LoopDelay };
}

/** Starts the app. Resolves when its panel is connected. */
export async function startMeasuredApp({
  electron: dist,
  entry,
  folder,
  display,
}: AppOptions): Promise<MeasuredApp> {
  const executablePath = copyWithApp(dist, join(folder, 'electron'), entry);
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const inherited = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const electron = await _electron.launch({
    executablePath,
    args: ['--data-dir', dataDir, '--port', '0'],
    env: {
      ...Object.fromEntries(inherited),
      DISPLAY: display,
      XDG_CONFIG_HOME: join(folder, 'config'),
      TRAINYARD_NODE: process.execPath,
    },
  });
  const page = await electron.firstWindow();
  await page.getByText('Live').waitFor({ timeout: 60_000 });
  return {
    url: readFileSync(join(dataDir, 'url'), 'utf8').trim(),
    folder: dataDir,
    electron,
    page,
    resetDelay: () => electron.evaluate(() => (globalThis as unknown as MeasuredMain).trainyardBench.reset()),
    readDelay: () => electron.evaluate(() => (globalThis as unknown as MeasuredMain).trainyardBench.read()),
    kill: () => void electron.process().kill('SIGKILL'),
  };
}
