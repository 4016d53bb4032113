import { app, dialog, session } from 'electron';
import type { DesktopAnswer, DesktopRequest } from '../../protocol/desktop-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { ScopedLog } from '../host/log.ts';
import type { AppsMenuEntry } from './app-image.ts';
import { copyDiagnostics } from './diagnostics/copy.ts';
import { createIpcHandlers, answerPanel } from './ipc-handlers.ts';
import { createFleets, type Fleets } from './fleets.ts';
import { type LoginItem, systemVault, createPower, type Power, createNotifications } from './platform.ts';
import { createLinkFollower } from './links/follow-link.ts';
import type { Link } from './links/links.ts';
import { setMenu, createTray } from './menu.ts';
import { noticeOf } from './notices.ts';
import type { OwnOrchestratorDeps } from './own.ts';
import { createOwnHolder, Declined, type OwnHolder, createQuitFlow } from './own-holder.ts';
import type { DesktopSettingsFile } from './settings.ts';
import type { Updater } from './updates/app-updates.ts';
import { setShortcuts } from './taskbar/shortcuts.ts';
import { createTaskbar } from './taskbar/taskbar.ts';
import { createUpdates } from './updates/create-updates.ts';
import { createActiveFleet, type ActiveFleet } from './active-fleet.ts';
import type { Summary } from './summary.ts';
import type { TrayAct } from './tray-model.ts';
import { clientFor, type FleetConnection, createWatchers, type FleetKey } from './watch.ts';
import { createWindow, type PanelWindow, guardSession } from './window.ts';
import { type Words, wordsFor } from './words/index.ts';

export interface AppOptions {
  readonly own: OwnOrchestratorDeps;
  readonly settings: DesktopSettingsFile;
  readonly log: ScopedLog;
  readonly preload: string;
  readonly icons: { readonly window: string; readonly tray: string; readonly attention: string };
  readonly login: LoginItem;
  readonly isHidden: boolean;
  readonly dataDir: string;
  /** Null when this build cannot update itself. */
  readonly updater: Updater | null;
  /** Null unless the app is an AppImage. */
  readonly appsMenu: AppsMenuEntry | null;
}

export interface DesktopApp {
  /** Shows the window for the first time, and opens this link. With null, opens the overview, or no window after `--hidden`. */
  openFirst(link: Link | null): void;
  /** Brings the window to the front, and opens this link. With null, the page does not change. */
  open(link: Link | null): void;
  /** Quits; asks for confirmation first when jobs of this computer are running. */
  quit(): Promise<void>;
  /** Quits without asking, because the user logs out or shuts down. */
  quitNow(): Promise<void>;
  /** Returns true while the installation of an update quits the app. */
  isInstalling(): boolean;
}

/** Everything that is created before the window. */
interface Setup extends AppOptions {
  readonly words: Words;
  readonly fleets: Fleets;
  readonly holder: OwnHolder;
  readonly activeFleet: ActiveFleet;
}

/** Starts the app. Call it when Electron is ready. Resolves to null if the start failed, after showing the user the reason. */
export async function startApp(deps: AppOptions): Promise<DesktopApp | null> {
  const { settings } = deps;
  const words = wordsFor(app.getPreferredSystemLanguages());
  const fleets = createFleets(settings, systemVault);
  const holder = createOwnHolder(deps.own, words);
  const activeFleet = createActiveFleet({ settings, fleets, openOwn: holder.open });
  guardSession(session.defaultSession, activeFleet.shown);
  const setup = { ...deps, words, fleets, holder, activeFleet };
  try {
    const trouble = await showFirstFleet(setup);
    notifyRestored(holder, words);
    return openWindow(setup, trouble);
  } catch (cause) {
    deps.log.error('desktop.not_started', { cause });
    if (!(cause instanceof Declined))
      dialog.showErrorBox(words.notStarted, cause instanceof Error ? cause.message : String(cause));
    return null;
  }
}

/** Tells the user that a backup replaced the database. Does not wait until the user closes the message. */
function notifyRestored(holder: OwnHolder, words: Words): void {
  const detail = holder.now()?.restored ?? null;
  if (detail !== null) void dialog.showMessageBox({ type: 'warning', message: words.restored, detail });
}

/**
 * Shows the fleet from the settings. If that fails, shows this computer's own fleet and returns the reason. Returns null on
 * success.
 */
async function showFirstFleet({ settings, activeFleet, holder, fleets }: Setup): Promise<string | null> {
  const { shown, runs_own: runsOwn } = settings.now;
  const trouble = await activeFleet.show(shown !== null && fleets.has(shown) ? shown : null);
  if (trouble !== null) await activeFleet.show(null);
  if (runsOwn) await holder.open();
  return trouble;
}

const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** Creates the window, menus, tray icon and notifications. `firstTrouble` is why the first fleet did not open; null if it did. */
function openWindow(setup: Setup, firstTrouble: string | null): DesktopApp {
  const { words, settings, holder, activeFleet, log } = setup;
  const { key } = activeFleet;
  let trouble = firstTrouble;
  const show = async (fleet: FleetKey, page = '/'): Promise<string | null> => {
    const why = await activeFleet.show(fleet);
    if (why !== null) return why;
    trouble = null;
    settings.change({ shown: fleet, ...(fleet === null && { runs_own: true }) });
    refresh();
    await window.load(page);
    return null;
  };
  const openAt: OpenAt = (fleet, page) => {
    if (fleet === key()) return window.open(page);
    window.open(null);
    return void show(fleet, page ?? '/').catch((cause: unknown) => log.error('desktop.not_shown', { cause }));
  };
  const notifications = createNotifications({ words, after, open: openAt });
  const watchers = createWatchers({
    after,
    onEvent: (fleet, event) => notifications.add(noticeOf(fleet, event, settings.now.notices)),
    onChange: () => updateStatus(),
  });
  const power = createPower(() => holder.now()?.noteWake());
  const window = createWindow({
    ...setup,
    shown: activeFleet.shown,
    onClosed: () => notifyContinues(settings, words, () => openAt(key(), null), notifications.show),
  });
  const quitFlow = createQuitFlow({
    ...setup,
    window,
    ownSummary: () => watchers.summary(null),
    stopAll: () => callAll([updates?.stop, watchers.stop, notifications.stop, power.close, icons.close]),
  });
  const ownJobs = (): number => ownJobsIn(setup, watchers.summary(null));
  const updates = createUpdates({
    ...setup,
    after,
    ownJobs,
    restart: quitFlow.quitToInstall,
    show: notifications.show,
    open: page => openAt(key(), page),
  });
  const act = createTrayAct(setup, openAt, quitFlow.quit);
  const icons = createIcons(setup, window, act);
  const updateStatus = (): void => {
    icons.show(watchers.summary(null), watchers.summary(key()));
    power.jobs(ownJobs());
    updates?.noteJobs();
  };
  const refresh = (): void => {
    watchers.watchOnly(fleetsToWatch(setup));
    window.title(key() === null ? 'Trainyard' : `${nameOf(setup)} — Trainyard`);
    const checkForUpdates = updates?.checkFromMenu ?? null;
    setFleetMenu(setup, { window, openAt, quit: quitFlow.quit, checkForUpdates, refresh });
    updateStatus();
  };
  const answer = createIpcHandlers({
    ...setup,
    key,
    updates,
    version: app.getVersion(),
    canSeal: systemVault.canSeal,
    show,
    refresh,
    trouble: () => trouble ?? watchers.trouble(key()),
  });
  answerPage({ window, activeFleet, power, answer });
  refresh();
  return { ...quitFlow, ...createLinks(setup, window, page => openAt(key(), page)) };
}

function createLinks(
  setup: Setup,
  window: PanelWindow,
  open: (page: string | null) => void,
): Pick<DesktopApp, 'openFirst' | 'open'> {
  setShortcuts({ ...setup, open });
  const follow = createLinkFollower({ ...setup, open });
  return {
    openFirst(link) {
      if (link === null || link.kind === 'page') return window.openFirstPage(link?.page ?? null);
      window.openFirstPage('/');
      return void follow(link);
    },
    open: link => (link === null ? open(null) : void follow(link)),
  };
}

const callAll = (calls: readonly ((() => void) | undefined)[]): void => calls.forEach(call => call?.());

/** Creates the tray icon and the state on the taskbar. `show` takes the summary of this computer and that of the shown fleet. */
function createIcons(
  setup: Setup,
  window: PanelWindow,
  act: (what: TrayAct) => void,
): Pick<ReturnType<typeof createTaskbar>, 'show' | 'close'> {
  const taskbar = createTaskbar({ ...setup, window, now: Date.now });
  const tray = createTray({ icon: setup.icons.tray, words: setup.words, act });
  return {
    show(own, shown) {
      tray.show({ fleet: nameOf(setup), summary: shown });
      taskbar.show(own, shown);
    },
    close: () => callAll([tray.close, taskbar.close]),
  };
}

/** Returns the number of running jobs of this computer's orchestrator; 0 while another program runs it. */
const ownJobsIn = ({ holder }: Setup, summary: Summary | null): number =>
  holder.now()?.isGuest === false ? (summary?.live.size ?? 0) : 0;

type OpenAt = (fleet: FleetKey, page: string | null) => void;

const createTrayAct =
  ({ activeFleet }: Setup, openAt: OpenAt, quit: () => Promise<void>) =>
  (what: TrayAct): void => {
    if (what.type === 'open') openAt(activeFleet.key(), what.page);
    else if (what.type === 'quit') void quit();
    else void setPaused(activeFleet.connection(), what.type);
  };

interface MenuActs {
  readonly window: Pick<PanelWindow, 'open' | 'close'>;
  readonly openAt: OpenAt;
  readonly quit: () => Promise<void>;
  readonly checkForUpdates: (() => void) | null;
  readonly refresh: () => void;
}

function setFleetMenu(setup: Setup, { window, openAt, quit, checkForUpdates, refresh }: MenuActs): void {
  const { words, fleets, activeFleet, appsMenu } = setup;
  setMenu({
    words,
    fleets: fleets.list(),
    shown: activeFleet.key(),
    go: page => window.open(page),
    show: fleet => openAt(fleet, null),
    hide: window.close,
    quit: () => void quit(),
    checkForUpdates,
    appsMenu: appsMenu && {
      isOn: appsMenu.isOn(),
      set(isOn) {
        const failure = appsMenu.set(isOn);
        if (failure !== null) dialog.showErrorBox(words.appsMenuFailed, failure.message);
        refresh();
      },
    },
    copyDiagnostics: () => void copyDiagnostics({ ...setup, connection: activeFleet.connection() }),
  });
}

interface PageAccess {
  readonly window: PanelWindow;
  readonly activeFleet: ActiveFleet;
  readonly power: Power;
  readonly answer: (request: DesktopRequest) => Promise<DesktopAnswer>;
}

function answerPage({ window, activeFleet, power, answer }: PageAccess): void {
  answerPanel({
    contents: () => window.contents,
    origin: () => activeFleet.shown()?.origin ?? null,
    answer,
    onBattery: power.battery,
  });
}

/** Returns the name of the current fleet. */
function nameOf({ activeFleet, fleets, words }: Setup): string {
  const key = activeFleet.key();
  return (key === null ? null : fleets.name(key)) ?? words.thisComputer;
}

/** Returns the fleets to watch: the current fleet, and this computer's own fleet while it runs. */
function fleetsToWatch({ activeFleet, holder }: Setup): ReadonlyMap<FleetKey, FleetConnection> {
  const [connection, own] = [activeFleet.connection(), holder.now()];
  return new Map<FleetKey, FleetConnection>([
    ...(own === null ? [] : [[null, { url: own.url, token: own.token }] as const]),
    ...(connection === null || activeFleet.key() === null ? [] : [[activeFleet.key(), connection] as const]),
  ]);
}

/** Pauses or resumes the queue. The response is not needed, because the event stream reports the change. */
async function setPaused(connection: FleetConnection | null, act: 'pause' | 'resume'): Promise<void> {
  if (connection !== null) await clientFor(connection).call(queueApi[act], { body: {} });
}

/** Tells the user, the first time only, that the app keeps running after its window closes. */
function notifyContinues(
  settings: DesktopSettingsFile,
  words: Words,
  reopen: () => void,
  show: ReturnType<typeof createNotifications>['show'],
): void {
  if (settings.now.has_told_goes_on) return;
  settings.change({ has_told_goes_on: true });
  show(words.stillRunning, words.stillRunningBody, reopen);
}
