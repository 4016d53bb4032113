/** Tests which programs `npm start` starts, and why it opens no window. */
import { expect, test } from 'vitest';
import { requiredFiles, backgroundBuilds, planStart, type StartContext } from '../../../dev/start-plan.ts';

const desktop: StartContext = {
  platform: 'linux',
  env: { DISPLAY: ':0' },
  isRoot: false,
  electron: '/modules/electron/dist/electron',
};
const headless = (reason: RegExp, fetches = false) => ({
  kind: 'headless',
  why: expect.stringMatching(reason),
  fetches,
});

test('starts the app when a display exists and Electron is installed', () => {
  const app = { kind: 'app', electron: '/modules/electron/dist/electron' };
  expect(planStart(desktop, false)).toEqual(app);
  expect(planStart({ ...desktop, env: { WAYLAND_DISPLAY: 'wayland-0' } }, false)).toEqual(app);
  for (const platform of ['darwin', 'win32'] as const)
    expect(planStart({ ...desktop, platform, env: {} }, false)).toEqual(app);
});

test('starts the server headless when no window can open, with the reason', () => {
  expect(planStart({ ...desktop, env: {} }, false)).toEqual(headless(/no display/));
  expect(planStart({ ...desktop, env: { DISPLAY: '' } }, false)).toEqual(headless(/no display/));
  expect(planStart({ ...desktop, isRoot: true }, false)).toEqual(headless(/root/));
  expect(planStart(desktop, true)).toEqual(headless(/--headless is set/));
  expect(planStart({ ...desktop, platform: 'darwin', env: { SSH_CONNECTION: 'x' } }, false)).toEqual(
    headless(/SSH/),
  );
});

test('downloads Electron only when the app could open a window', () => {
  expect(planStart({ ...desktop, electron: null }, false)).toEqual(headless(/being downloaded/, true));
  expect(planStart({ ...desktop, electron: null, env: {} }, false)).toEqual(headless(/no display/));
});

test('requires only the panel for a headless start, and builds worker programs in the background', () => {
  expect(Object.keys(requiredFiles.headless)).toEqual(['dist/renderer/index.html']);
  expect(Object.keys(requiredFiles.app)).toContain('dist/main/desktop.js');
  expect(Object.keys(backgroundBuilds('linux', 'x64'))).toEqual(['dist/agent/trainyard-worker-linux-x64']);
  expect(Object.keys(backgroundBuilds('linux', 'arm64'))).toEqual([
    'dist/agent/trainyard-worker-linux-arm64',
  ]);
  expect(Object.keys(backgroundBuilds('darwin', 'x64'))).toEqual(['dist/agent/trainyard-worker.mjs']);
});
