import { join } from 'node:path';
import { app } from 'electron';
import { appLogIn } from './cli/doctor/report.ts';
import { loadServerConfig, type ServerConfig } from './config.ts';
import { startApp, type AppOptions, type DesktopApp } from './desktop/app.ts';
import { createAppsMenuEntry, refreshAppsMenu } from './desktop/app-image.ts';
import { type Arguments, readArguments, localAgent } from './desktop/arguments.ts';
import { logCrashes, storeCrashDumps } from './desktop/diagnostics/crashes.ts';
import { openLogFile } from './desktop/diagnostics/log-file.ts';
import { type Link, linkAmong, parseLink, scheme } from './desktop/links/links.ts';
import { createLoginItem } from './desktop/platform.ts';
import { openDesktopSettings } from './desktop/settings.ts';
import { canUpdate, createUpdater } from './desktop/updates/updater.ts';
import { makeFolder } from './host/data-folder.ts';
import { batchLines, createLog } from './host/log.ts';

const dist = join(import.meta.dirname, '..');
const exitCodes = { failed: 1, usage: 2, diskFailed: 75 } as const;

async function toAppOptions(config: ServerConfig, { isHidden }: Arguments): Promise<AppOptions> {
  const { env } = process;
  const writeToFile = openLogFile(appLogIn(config.dataDir));
  const write = batchLines(text => {
    process.stderr.write(text);
    writeToFile(text);
  });
  const log = createLog(write, false);
  logCrashes(log);
  const icons = join(import.meta.dirname, 'icons');
  const places = {
    isPackaged: app.isPackaged,
    resources: process.resourcesPath,
    platform: process.platform,
    arch: process.arch,
    env,
  };
  const appImage = env['APPIMAGE'];
  return {
    log,
    isHidden,
    updater: canUpdate({ ...places, appImage }) ? await createUpdater(log, { appImage }) : null,
    dataDir: config.dataDir,
    own: {
      config,
      log,
      agent: localAgent({ ...places, dist: import.meta.dirname }),
      // After a disk failure, no further request may be answered.
      onFatal: () => process.exit(exitCodes.diskFailed),
    },
    settings: openDesktopSettings(join(app.getPath('userData'), 'desktop.json')),
    preload: join(dist, 'preload/preload.cjs'),
    icons: {
      window: join(icons, 'window.png'),
      tray: join(icons, process.platform === 'darwin' ? 'trayTemplate.png' : 'tray.png'),
      attention: join(icons, 'attention.png'),
    },
    appsMenu:
      appImage === undefined || !app.isPackaged
        ? null
        : createAppsMenuEntry({
            dataHome: env['XDG_DATA_HOME'] ?? join(app.getPath('home'), '.local/share'),
            appImage,
            icon: join(icons, 'window.png'),
            onChange: refreshAppsMenu,
          }),
    login: createLoginItem({
      configHome: env['XDG_CONFIG_HOME'] ?? join(app.getPath('home'), '.config'),
      program: appImage ?? process.execPath,
    }),
  };
}

const parseOrNull = (text: string | null): Link | null => (text === null ? null : parseLink(text));

function run(config: ServerConfig, startArguments: Arguments): void {
  let firstLink = parseOrNull(startArguments.link);
  let desktop: DesktopApp | null = null;
  const openLink = (text: string | null): void => {
    const link = parseOrNull(text);
    if (desktop === null) firstLink = link ?? firstLink;
    else desktop.open(link);
  };
  const start = async (): Promise<void> => {
    desktop = await startApp(await toAppOptions(config, startArguments));
    if (desktop === null) return app.exit(exitCodes.failed);
    // Opens the link that the user clicked while the orchestrator started.
    desktop.openFirst(firstLink);
  };
  app.on('second-instance', (_event, argv) => openLink(linkAmong(argv)));
  app.on('open-url', (event, url) => {
    event.preventDefault();
    openLink(url);
  });
  app.on('activate', () => desktop?.open(null));
  // Handling this event keeps the app running in the tray.
  app.on('window-all-closed', () => undefined);
  app.on('before-quit', event => {
    if (desktop?.isInstalling() === true) return;
    event.preventDefault();
    void desktop?.quit();
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void (desktop === null ? app.exit(0) : desktop.quitNow()));
  void app.whenReady().then(start);
}

const startArguments = readArguments(process.argv.slice(1));
const config = loadServerConfig(startArguments.flags, process.env);
if (config.ok) {
  // The single-instance lock and the app data belong to the data folder, so each data folder has its own app.
  makeFolder(config.value.dataDir);
  const folder = join(config.value.dataDir, 'desktop');
  makeFolder(folder);
  app.setPath('userData', folder);
  storeCrashDumps();
  // Respect `--no-sandbox`: as root, for example in a container, Electron does not start with its sandbox.
  if (!app.commandLine.hasSwitch('no-sandbox')) app.enableSandbox();
  // Register with `--`, so that no part of a link is parsed as an option. Any web page can choose the text of a link.
  if (app.isPackaged) app.setAsDefaultProtocolClient(scheme, process.execPath, ['--']);
  if (app.requestSingleInstanceLock()) run(config.value, startArguments);
  else app.exit(0);
} else {
  process.stderr.write(`${config.refusal.detail}\n`);
  app.exit(exitCodes.usage);
}
