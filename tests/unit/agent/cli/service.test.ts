import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  launchdPlist,
  type Service,
  serviceId,
  systemdUnit,
  windowsTask,
} from '../../../../agent/cli/service-files.ts';
import { type Machine, planService } from '../../../../agent/cli/service-plan.ts';
import { openFolder } from '../../../support/fleet-bench.ts';

/** A text with characters that are special for systemd, XML or a shell. */
const specialCharacters = `it's $HOME 100% "x" <&> \\ \`id\` 机`;
const service: Service = {
  worker: 'rig-1',
  id: 'trainyard-worker-rig-1',
  command: ['/bin/true', '--name=rig-1', '--pin=sha256:Ab+/=', `--label=a=${specialCharacters}`],
  folder: '/var/lib/trainyard-worker/rig-1',
  path: '/opt/s t/bin:/usr/bin:/odd$HOME%h"\\',
  isSystem: true,
};

test('writes a unit that keeps the training on a stop, and restarts the worker only after temporary failures', () => {
  const lines = systemdUnit(service).split('\n');
  for (const line of [
    'KillMode=process',
    'KillSignal=SIGUSR2',
    'OOMPolicy=continue',
    'TimeoutStopSec=30',
    'Restart=on-failure',
    'RestartPreventExitStatus=2 3 73',
    'UMask=0077',
  ])
    expect(lines).toContain(line);
});

test('escapes characters that systemd interprets in the unit', () => {
  expect(systemdUnit(service)).toContain(
    String.raw`  "--label=a=it's $$HOME 100%% \"x\" <&> \\ ` + '`id` 机"',
  );
  expect(systemdUnit({ ...service, worker: 'a\n[Service]\nExecStart=/bin/evil %h' })).toContain(
    'Description=Trainyard worker a [Service] ExecStart=/bin/evil %%h\n',
  );
});

test('writes the PATH of the service into the unit and the plist, with special characters escaped', () => {
  expect(systemdUnit(service)).toContain(
    String.raw`Environment="PATH=/opt/s t/bin:/usr/bin:/odd$HOME%%h\"\\"` + '\n',
  );
  expect(systemdUnit({ ...service, path: null })).not.toContain('Environment');
  expect(launchdPlist({ ...service, path: '/a & b/bin:/bin' })).toContain(
    '<key>EnvironmentVariables</key><dict><key>PATH</key><string>/a &amp; b/bin:/bin</string></dict>',
  );
  expect(launchdPlist({ ...service, path: null })).not.toContain('EnvironmentVariables');
});

const systemdAnalyze = spawnSync('systemd-analyze', ['--version']);
test.skipIf(systemdAnalyze.error !== undefined).each([true, false])(
  'writes a unit that systemd accepts (for the whole machine: %s)',
  isSystem => {
    const file = join(openFolder(), 'trainyard-worker-rig-1.service');
    writeFileSync(file, systemdUnit({ ...service, worker: specialCharacters, isSystem, folder: '/' }));
    const scope = isSystem ? [] : ['--user'];
    const env = { ...process.env, XDG_RUNTIME_DIR: openFolder() };
    const { stdout, stderr } = spawnSync('systemd-analyze', [...scope, 'verify', '--man=no', file], {
      env,
      encoding: 'utf8',
    });
    // systemd also reports problems of other units on this machine.
    const problems = `${stdout}${stderr}`.split('\n').filter(line => line.includes('trainyard-worker'));
    expect(problems).toEqual([]);
  },
);

test('writes a plist and a task with every argument intact', () => {
  const plist = launchdPlist({ ...service, folder: '/a & b' });
  expect(plist).toContain(
    `<string>--label=a=it's $HOME 100% &quot;x&quot; &lt;&amp;&gt; \\ \`id\` 机</string>`,
  );
  expect(plist).toContain('<key>AbandonProcessGroup</key><true/>');
  expect(plist).toContain('<string>/a &amp; b</string>');
  const task = windowsTask(
    { ...service, command: ['C:\\w.exe', 'a b', 'c"d', 'e f\\', 'C:\\x\\y'] },
    'RIG\\a&b',
  );
  // Without administrator rights, users can install only a task for their own logon.
  expect(task).toContain(String.raw`<LogonTrigger><Enabled>true</Enabled><UserId>RIG\a&amp;b</UserId>`);
  expect(task).toContain('<Count>255</Count>');
  expect(task).toContain('<Command>C:\\w.exe</Command>');
  expect(task).toContain(
    String.raw`<Arguments>&quot;a b&quot; &quot;c\&quot;d&quot; &quot;e f\\&quot; C:\x\y</Arguments>`,
  );
  const python = spawnSync(
    'python3',
    ['-c', 'import sys, xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())'],
    { input: plist },
  );
  // The XML syntax is checked only on machines with Python.
  if (python.error === undefined) expect(python.status).toBe(0);
});

test.each([
  ['rig-1', 'trainyard-worker-rig-1'],
  ['../../etc', 'trainyard-worker-.._.._etc'],
  ['a b/ü', 'trainyard-worker-a_b__'],
  ['x'.repeat(200), `trainyard-worker-${'x'.repeat(64)}`],
])('converts the worker name %j to the service id %s', (name, id) => {
  expect(serviceId(name)).toBe(id);
});

describe('planService', () => {
  const machine: Machine = {
    platform: 'linux',
    home: '/home/u',
    uid: 1000,
    configHome: '/home/u/.config',
    windowsUser: 'RIG\\u',
  };
  const userService = { ...service, isSystem: false };

  test('plans a systemd service for the machine or for a user on Linux', () => {
    expect(planService(service, machine)).toMatchObject({
      file: '/etc/systemd/system/trainyard-worker-rig-1.service',
      install: [
        ['systemctl', 'daemon-reload'],
        ['systemctl', 'enable', expect.any(String)],
        ['systemctl', 'restart', expect.any(String)],
      ],
    });
    expect(planService(userService, machine)).toMatchObject({
      file: '/home/u/.config/systemd/user/trainyard-worker-rig-1.service',
      text: expect.stringContaining('WantedBy=default.target') as string,
      uninstall: [
        ['systemctl', '--user', 'disable', '--now', 'trainyard-worker-rig-1.service'],
        ['systemctl', '--user', 'daemon-reload'],
      ],
      note: expect.stringContaining('enable-linger') as string,
    });
  });

  test('plans a launchd service on macOS and a scheduled task on Windows', () => {
    const plist = '/home/u/Library/LaunchAgents/trainyard-worker-rig-1.plist';
    expect(planService(userService, { ...machine, platform: 'darwin' })).toMatchObject({
      file: plist,
      install: [['launchctl', 'bootstrap', 'gui/1000', plist]],
      uninstall: [['launchctl', 'bootout', 'gui/1000/trainyard-worker-rig-1']],
    });
    expect(planService(userService, { ...machine, platform: 'win32' })).toMatchObject({
      encoding: 'utf16le',
      text: expect.stringMatching(/^\uFEFF<\?xml/),
      uninstall: [
        ['schtasks', '/End', '/TN', service.id],
        ['schtasks', '/Delete', '/TN', service.id, '/F'],
      ],
    });
  });

  test('plans no service on other systems', () => {
    expect(planService(userService, { ...machine, platform: 'freebsd' })).toBeNull();
  });
});
