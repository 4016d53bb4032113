import { join } from 'node:path';
import { launchdPlist, type Service, systemdUnit, windowsTask } from './service-files.ts';

/** The file and the commands that install a worker as a service and uninstall it. */
export interface ServicePlan {
  readonly file: string;
  readonly text: string;
  readonly encoding: 'utf8' | 'utf16le';
  /** Commands in order. Run them after the file has been written. */
  readonly install: readonly (readonly string[])[];
  /** Commands in order. Remove the file after the first one. */
  readonly uninstall: readonly (readonly string[])[];
  /** A command that shows the state or the log of the service. */
  readonly statusCommand: string;
  /** Advice for the user; null for none. */
  readonly note: string | null;
}

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly uid: number;
  /** `XDG_CONFIG_HOME`, or its default. */
  readonly configHome: string;
  /** `DOMAIN\\NAME` of the user on Windows; empty on other systems. */
  readonly windowsUser: string;
}

/** Returns null when the platform has no supported service manager. */
export function planService(service: Service, machine: Machine): ServicePlan | null {
  const { platform } = machine;
  if (platform === 'linux') return systemdPlan(service, machine);
  if (platform === 'darwin') return launchdPlan(service, machine);
  return platform === 'win32' ? windowsPlan(service, machine) : null;
}

function systemdPlan(service: Service, { configHome }: Machine): ServicePlan {
  const { id, isSystem } = service;
  const folder = isSystem ? '/etc/systemd/system' : join(configHome, 'systemd/user');
  const systemctl = isSystem ? ['systemctl'] : ['systemctl', '--user'];
  const unit = `${id}.service`;
  return {
    file: join(folder, unit),
    text: systemdUnit(service),
    encoding: 'utf8',
    install: [
      [...systemctl, 'daemon-reload'],
      [...systemctl, 'enable', unit],
      [...systemctl, 'restart', unit],
    ],
    uninstall: [
      [...systemctl, 'disable', '--now', unit],
      [...systemctl, 'daemon-reload'],
    ],
    statusCommand: `journalctl ${isSystem ? '' : '--user '}-u ${unit} -f`,
    note: isSystem
      ? null
      : 'It runs while you are logged in. To run it from boot on, use "loginctl enable-linger", or install it for the whole machine as root, without --user',
  };
}

function launchdPlan(service: Service, { home, uid }: Machine): ServicePlan {
  const { id, isSystem } = service;
  const domain = isSystem ? 'system' : `gui/${uid}`;
  const file = isSystem
    ? `/Library/LaunchDaemons/${id}.plist`
    : join(home, `Library/LaunchAgents/${id}.plist`);
  return {
    file,
    text: launchdPlist(service),
    encoding: 'utf8',
    install: [['launchctl', 'bootstrap', domain, file]],
    uninstall: [['launchctl', 'bootout', `${domain}/${id}`]],
    statusCommand: `launchctl print ${domain}/${id}`,
    note: null,
  };
}

function windowsPlan(service: Service, { configHome, windowsUser }: Machine): ServicePlan {
  const { id } = service;
  const file = join(configHome, `trainyard/${id}.xml`);
  return {
    file,
    // The byte order mark shows the encoding.
    text: `\uFEFF${windowsTask(service, windowsUser)}`,
    encoding: 'utf16le',
    install: [
      ['schtasks', '/Create', '/TN', id, '/XML', file, '/F'],
      ['schtasks', '/Run', '/TN', id],
    ],
    uninstall: [
      ['schtasks', '/End', '/TN', id],
      ['schtasks', '/Delete', '/TN', id, '/F'],
    ],
    statusCommand: `schtasks /Query /TN ${id}`,
    note: 'It starts when you log on',
  };
}
