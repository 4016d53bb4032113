import { ipcMain, type IpcMainEvent, type IpcMainInvokeEvent, type WebContents } from 'electron';
import {
  type DesktopAnswer,
  type DesktopChange,
  DesktopRequest,
  type DesktopView,
  Battery,
} from '../../protocol/desktop-api.ts';
import { plainIssues } from '../../protocol/plain-issue.ts';
import type { Fleets } from './fleets.ts';
import type { LoginItem } from './platform.ts';
import type { OwnHolder } from './own-holder.ts';
import type { DesktopSettingsFile } from './settings.ts';
import type { AppUpdates } from './updates/app-updates.ts';
import { isAt } from './window-rules.ts';

interface IpcDeps {
  /** Returns the web contents of the panel's window; null without a window. */
  readonly contents: () => WebContents | null;
  /** Returns the only origin whose pages may send requests; null without a fleet. */
  readonly origin: () => string | null;
  readonly answer: (request: DesktopRequest) => DesktopAnswer | Promise<DesktopAnswer>;
  readonly onBattery: (battery: Battery) => void;
}

/**
 * Answers requests from the panel. Accepts a request only from the panel's own page in its own window, and only if it matches the
 * contract.
 */
export function answerPanel({ contents, origin, answer, onBattery }: IpcDeps): void {
  const isOurs = ({ sender, senderFrame }: IpcMainInvokeEvent | IpcMainEvent): boolean => {
    const [window, from] = [contents(), origin()];
    if (window === null || from === null || sender !== window) return false;
    return senderFrame !== null && senderFrame === window.mainFrame && isAt(senderFrame.url, from);
  };
  ipcMain.handle('desktop', (event, body: unknown): DesktopAnswer | Promise<DesktopAnswer> => {
    if (!isOurs(event)) throw new Error('this page may not call the app');
    const request = DesktopRequest.safeParse(body, plainIssues);
    if (request.success) return answer(request.data);
    const [issue] = request.error.issues;
    return { ok: false, detail: [...(issue?.path ?? []).slice(1), issue?.message].join(': ') };
  });
  ipcMain.on('battery', (event, message: unknown) => {
    const battery = Battery.safeParse(message);
    if (isOurs(event) && battery.success) onBattery(battery.data);
  });
}

export interface IpcHandlerDeps {
  readonly settings: DesktopSettingsFile;
  readonly fleets: Fleets;
  readonly login: LoginItem;
  readonly holder: Pick<OwnHolder, 'open' | 'close'>;
  readonly canSeal: () => Promise<boolean>;
  /** Returns the id of the fleet in the window; null for this computer's own. */
  readonly key: () => string | null;
  /** Null when this build has no update feed. */
  readonly updates: Pick<AppUpdates, 'view' | 'start'> | null;
  readonly version: string;
  /** Returns why the fleet in the window cannot be reached; null for no problem. */
  readonly trouble: () => string | null;
  /** Shows a fleet in the window. Resolves with null on success, otherwise with the reason. */
  readonly show: (fleet: string | null) => Promise<string | null>;
  /** Call it after the list of fleets has changed. */
  readonly refresh: () => void;
}

const refused = (detail: string): DesktopAnswer => ({ ok: false, detail });

/** Creates the function that answers the panel's requests to the app. */
export function createIpcHandlers(deps: IpcHandlerDeps): (request: DesktopRequest) => Promise<DesktopAnswer> {
  const { settings, fleets, key, show, refresh } = deps;
  const view = async (): Promise<DesktopAnswer> => ({ ok: true, view: await viewOf(deps) });
  const answerChange = (result: ReturnType<Fleets['remove']>): DesktopAnswer | Promise<DesktopAnswer> => {
    if (!result.ok) return refused(result.detail);
    refresh();
    return view();
  };
  return async request => {
    switch (request.name) {
      case 'view':
        return view();
      case 'change': {
        const why = await change(deps, request.input);
        return why === null ? view() : refused(why);
      }
      case 'add_fleet':
        return answerChange(await fleets.add(request.input));
      case 'change_fleet': {
        const answer = await answerChange(await fleets.change(request.input));
        // The address or token may have changed, so connect again.
        if (answer.ok && request.input.id === key()) await show(key());
        return answer;
      }
      case 'remove_fleet':
        if (request.input === key()) return refused('It is in the window: show another fleet first');
        return answerChange(fleets.remove(request.input));
      case 'show': {
        const why = await show(request.input).catch(reasonOf);
        if (why !== null) return refused(why);
        settings.change({ shown: request.input });
        return view();
      }
      case 'update':
        deps.updates?.start(request.input);
        return view();
    }
  };
}

async function viewOf({
  settings,
  fleets,
  key,
  trouble,
  login,
  canSeal,
  updates,
  version,
}: IpcHandlerDeps): Promise<DesktopView> {
  const { runs_own, notices } = settings.now;
  return {
    fleets: fleets.list(),
    shown: key(),
    trouble: trouble(),
    runs_own,
    notices,
    open_at_login: login.isOn(),
    has_keyring: await canSeal(),
    version,
    update: updates?.view() ?? null,
  };
}

/** Applies the change. Resolves with null on success, otherwise with the reason. */
async function change(deps: IpcHandlerDeps, request: DesktopChange): Promise<string | null> {
  const { settings, login, holder, key, refresh } = deps;
  const { notices, open_at_login: atLogin, runs_own: runsOwn } = request;
  if (runsOwn === false && key() === null) return 'It is in the window: show another fleet first';
  try {
    if (atLogin !== undefined) login.set(atLogin);
    if (runsOwn === true) await holder.open();
    if (runsOwn === false) await holder.close();
  } catch (cause) {
    return reasonOf(cause);
  }
  const failure = settings.change({
    notices: { ...settings.now.notices, ...notices },
    ...(runsOwn !== undefined && { runs_own: runsOwn }),
  });
  refresh();
  return failure === null ? null : failure.message;
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
