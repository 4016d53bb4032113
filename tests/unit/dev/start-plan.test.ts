/** What `npm start` starts, and what it prints when it cannot open a window. */
import { expect, test } from 'vitest';
import { built, builtBeside, planStart, type Surroundings } from '../../../dev/start-plan.ts';

const desktop: Surroundings = {
  platform: 'linux',
  env: { DISPLAY: ':0' },
  isRoot: false,
  electron: '/modules/electron/dist/electron',
};
const headless = (why: RegExp, fetches = false) => ({
  kind: 'headless',
  why: expect.stringMatching(why),
  fetches,
});

test('the app, where there is a display and Electron', () => {
  const app = { kind: 'app', electron: '/modules/electron/dist/electron' };
  expect(planStart(desktop, false)).toEqual(app);
  expect(planStart({ ...desktop, env: { WAYLAND_DISPLAY: 'wayland-0' } }, false)).toEqual(app);
  for (const platform of ['darwin', 'win32'] as const)
    expect(planStart({ ...desktop, platform, env: {} }, false)).toEqual(app);
});

test('else the server, with the reason on one line', () => {
  expect(planStart({ ...desktop, env: {} }, false)).toEqual(headless(/no display/));
  expect(planStart({ ...desktop, env: { DISPLAY: '' } }, false)).toEqual(headless(/no display/));
  expect(planStart({ ...desktop, isRoot: true }, false)).toEqual(headless(/root/));
  expect(planStart(desktop, true)).toEqual(headless(/as asked/));
  expect(planStart({ ...desktop, platform: 'darwin', env: { SSH_CONNECTION: 'x' } }, false)).toEqual(
    headless(/SSH/),
  );
});

test('Electron is fetched only where it would be of use', () => {
  expect(planStart({ ...desktop, electron: null }, false)).toEqual(headless(/being fetched/, true));
  expect(planStart({ ...desktop, electron: null, env: {} }, false)).toEqual(headless(/no display/));
});

test('a server waits for the panel alone; what rigs fetch is built beside it', () => {
  expect(Object.keys(built.headless)).toEqual(['dist/renderer/index.html']);
  expect(Object.keys(built.app)).toContain('dist/main/desktop.js');
  expect(Object.keys(builtBeside('linux', 'x64'))).toEqual(['dist/agent/trainyard-worker-linux-x64']);
  expect(Object.keys(builtBeside('linux', 'arm64'))).toEqual(['dist/agent/trainyard-worker.mjs']);
  expect(Object.keys(builtBeside('darwin', 'x64'))).toEqual(['dist/agent/trainyard-worker.mjs']);
});
