import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readArguments, autostartEntry, localAgent } from '../../../../main/desktop/arguments.ts';
import {
  isAt,
  mayLoad,
  mayOpenOutside,
  pagePreferences,
  reloadDelayMs,
  placeWindow,
} from '../../../../main/desktop/window-rules.ts';
import { emptySummary, staysAwake, quitQuestion } from '../../../../main/desktop/summary.ts';
import { wordsFor } from '../../../../main/desktop/words/index.ts';

describe('readArguments', () => {
  test('reads the flags of the server and the app, and ignores other flags', () => {
    const parsed = readArguments([
      'dist/main/desktop.js',
      '--remote-debugging-port=0',
      '--data-dir',
      '/data',
      '--port=9000',
      '--hidden',
      'trainyard://worker/w_1',
      '--unknown',
    ]);
    expect(parsed).toEqual({
      flags: { 'data-dir': '/data', port: '9000' },
      isHidden: true,
      link: 'trainyard://worker/w_1',
    });
  });

  test('ignores flags after the argument "--"', () => {
    const link = 'trainyard://job/j_1';
    expect(readArguments(['--hidden', '--', link, '--data-dir', '/evil', '--config=/evil'])).toEqual({
      flags: {},
      isHidden: true,
      link,
    });
  });

  test('returns no flags for an empty command line', () =>
    expect(readArguments([])).toEqual({ flags: {}, isHidden: false, link: null }));
});

describe('placeWindow', () => {
  const laptop = { x: 0, y: 24, width: 1_440, height: 876 };
  const screen = { x: 1_440, y: 0, width: 2_560, height: 1_440 };

  test('centers the window at the first start and fits it into the display', () => {
    expect(placeWindow(null, [laptop])).toEqual({ x: 80, y: 42, width: 1_280, height: 840 });
    expect(placeWindow(null, [{ x: 0, y: 0, width: 800, height: 600 }])).toEqual({
      x: 0,
      y: 0,
      width: 800,
      height: 600,
    });
  });

  test('restores the window position on any display', () => {
    const onSecondDisplay = { x: 1_600, y: 100, width: 1_000, height: 700 };
    expect(placeWindow(onSecondDisplay, [laptop, screen])).toEqual(onSecondDisplay);
    const onBothDisplays = { x: 1_300, y: 100, width: 900, height: 700 };
    expect(placeWindow(onBothDisplays, [laptop, screen])).toEqual(onBothDisplays);
  });

  test.each([
    ['on a missing display', { x: 1_600, y: 100, width: 1_000, height: 700 }],
    ['above the display', { x: 100, y: -400, width: 1_000, height: 700 }],
    ['below the display', { x: 100, y: 890, width: 1_000, height: 700 }],
    ['too far left to be grabbed', { x: -950, y: 100, width: 1_000, height: 700 }],
  ])('moves a window back onto a display when the stored position is %s', (_case, storedPosition) => {
    expect(placeWindow(storedPosition, [laptop])).toEqual({ x: 220, y: 112, width: 1_000, height: 700 });
  });

  test('keeps the window size between a minimum and the size of the display', () => {
    expect(placeWindow({ x: 0, y: 30, width: 5_000, height: 4_000 }, [laptop])).toMatchObject({
      width: 1_440,
      height: 876,
    });
    expect(placeWindow({ x: 0, y: 30, width: 20, height: 0 }, [laptop])).toMatchObject({
      width: 480,
      height: 360,
    });
  });
});

describe('page security', () => {
  const origin = 'http://127.0.0.1:8001';

  test('allows the page to load only its own origin', () => {
    for (const ownUrl of [`${origin}/`, `${origin}/api/events`, 'data:image/png;base64,', 'blob:x'])
      expect(mayLoad(ownUrl, origin)).toBe(true);
    const otherUrls = [
      'http://127.0.0.1:8002/',
      'http://127.0.0.1:8001.evil.example/',
      'http://localhost:8001/',
      'https://127.0.0.1:8001/',
      'ws://127.0.0.1:8001/',
      'file:///etc/passwd',
      'http://user@127.0.0.1/',
      'nonsense',
      '',
    ];
    expect(otherUrls.filter(url => mayLoad(url, origin))).toEqual([]);
    expect(isAt(`${origin}@evil.example/`, origin)).toBe(false);
  });

  test('opens only https pages and the API docs in the system browser', () => {
    for (const allowedUrl of ['https://github.com/x', `${origin}/docs`, `${origin}/docs/x`])
      expect(mayOpenOutside(allowedUrl, origin)).toBe(true);
    const otherUrls = [
      `${origin}/`,
      `${origin}/docsx`,
      `${origin}/api/session`,
      'http://example.com/',
      'https://user:word@example.com/',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'smb://host/share',
      'trainyard://job/x',
      'nonsense',
    ];
    expect(otherUrls.filter(url => mayOpenOutside(url, origin))).toEqual([]);
  });

  test('isolates the page from Node and Electron', () => {
    expect(pagePreferences).toMatchObject({
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      webSecurity: true,
      webviewTag: false,
    });
  });

  test('reloads a page immediately after its first crash, and with a delay after repeated crashes', () => {
    const delays = [1, 2, 3, 4, 20].map(crashes => reloadDelayMs(Array<number>(crashes).fill(1_000), 2_000));
    expect(delays).toEqual([0, 500, 1_000, 2_000, 30_000]);
    expect(reloadDelayMs([1_000, 1_000, 1_000, 90_000], 90_000)).toBe(0);
  });
});

describe('staysAwake', () => {
  const low = { charging: false, level: 0.2 };

  test.each([
    [0, false, null, false],
    [1, false, null, true],
    [1, true, null, true],
    [1, true, { charging: false, level: 0.21 }, true],
    [1, true, low, false],
    [1, true, { charging: true, level: 0.1 }, true],
    // On mains power, the battery level is ignored, because it can be outdated.
    [1, false, low, true],
  ])(
    'given %d running jobs, isOnBattery=%s and battery=%j, returns %s',
    (jobs, isOnBattery, battery, isAwake) => expect(staysAwake(jobs, { isOnBattery, battery })).toBe(isAwake),
  );
});

describe('quitQuestion', () => {
  const en = wordsFor(['en-GB']);
  const job = { id: 'j_1', name: 'a', percent: 3, worker: 'w_1', isSilent: false };
  const busy = { ...emptySummary, live: new Map([['j_1', job]]) };

  test('asks before quitting while jobs run, and explains what happens to the jobs', () => {
    const question = quitQuestion({ isGuest: false, summary: busy }, en);
    expect(question?.message).toBe('Quit while 1 job is running?');
    expect(question?.detail).toMatch(/keep training/);
  });

  test.each([
    ['no own orchestrator', null],
    ['an orchestrator that another program started', { isGuest: true, summary: busy }],
    ['no jobs', { isGuest: false, summary: emptySummary }],
    ['no known state', { isGuest: false, summary: null }],
  ])('asks no question before quitting with %s', (_case, orchestrator) =>
    expect(quitQuestion(orchestrator, en)).toBeNull(),
  );
});

test('quotes the program path in the autostart entry', () => {
  expect(autostartEntry('/opt/Trainyard/trainyard')).toContain(
    '\nExec="/opt/Trainyard/trainyard" --hidden\n',
  );
  expect(autostartEntry('/home/a b/100% $x.AppImage')).toContain(
    String.raw`Exec="/home/a b/100%% \\$x.AppImage" --hidden`,
  );
});

describe('localAgent', () => {
  const locations = {
    resources: '/res',
    dist: '/checkout/dist/main',
    platform: 'linux',
    arch: 'x64',
  } as const;

  test('returns the packaged worker program, and whether the package has a sample', () => {
    const agent = localAgent({ ...locations, isPackaged: true, env: { HOME: '/home/x' } });
    expect(agent).toEqual({
      command: ['/res/app.asar.unpacked/dist/agent/trainyard-worker-linux-x64'],
      env: { HOME: '/home/x' },
      hasSample: false,
    });
    const resources = mkdtempSync(join(tmpdir(), 'trainyard-test-'));
    const sample = join(resources, 'app.asar.unpacked/dist/examples/digits');
    mkdirSync(sample, { recursive: true });
    writeFileSync(join(sample, 'train.mjs'), '');
    expect(localAgent({ ...locations, resources, isPackaged: true, env: {} }).hasSample).toBe(true);
    expect(localAgent({ ...locations, platform: 'win32', isPackaged: true, env: {} }).command).toEqual([
      '/res/app.asar.unpacked/dist/agent/trainyard-worker-win32-x64.exe',
    ]);
  });

  test('returns the command line of a source checkout, run by the Node that started the app', () => {
    const agent = localAgent({
      ...locations,
      isPackaged: false,
      env: { TRAINYARD_NODE: '/n/node', HOME: '/h' },
    });
    expect(agent.command).toEqual(['/n/node', '/checkout/dist/main/cli.js', 'worker']);
    expect(agent.env).toEqual({ HOME: '/h' });
  });
});
