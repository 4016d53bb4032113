/** Runs in the sandbox of the app's window, and gives the panel its only access to the main process. */
import { contextBridge, ipcRenderer, type IpcRendererEvent } from 'electron';
import type { Battery, DesktopAnswer, DesktopApi, DesktopRequest } from '../protocol/desktop-api.ts';

const call = (name: DesktopRequest['name'], input?: unknown): Promise<DesktopAnswer> =>
  ipcRenderer.invoke('desktop', { name, input });

/** The path of a page that was requested before the panel could receive it. */
let earlyPath: string | null = null;
const keepEarlyPath = (_event: IpcRendererEvent, path: unknown): void => {
  earlyPath = String(path);
};
ipcRenderer.on('go', keepEarlyPath);

contextBridge.exposeInMainWorld('desktop', {
  view: () => call('view'),
  change: change => call('change', change),
  addFleet: fleet => call('add_fleet', fleet),
  changeFleet: change => call('change_fleet', change),
  removeFleet: id => call('remove_fleet', id),
  show: id => call('show', id),
  update: step => call('update', step),
  onGo(go) {
    const listener = (_event: IpcRendererEvent, path: unknown): void => go(String(path));
    ipcRenderer.off('go', keepEarlyPath);
    ipcRenderer.on('go', listener);
    if (earlyPath !== null) go(earlyPath);
    earlyPath = null;
    return () => void ipcRenderer.off('go', listener);
  },
} satisfies DesktopApi);

interface BatteryManager extends EventTarget, Battery {}

/** Only Chromium implements this API, so the standard DOM types lack it. */
interface WithBattery {
  readonly getBattery?: () => Promise<BatteryManager>;
}

/**
 * Reports the state of the battery to the main process, because Electron exposes that state only to pages. A computer
 * without a battery always reports that it is charging.
 */
function reportBattery(send: (battery: Battery) => void): void {
  const self: Navigator & WithBattery = navigator;
  void self.getBattery?.().then(battery => {
    const report = (): void => send({ charging: battery.charging, level: battery.level });
    battery.addEventListener('chargingchange', report);
    battery.addEventListener('levelchange', report);
    report();
  });
}

reportBattery(battery => ipcRenderer.send('battery', battery));
