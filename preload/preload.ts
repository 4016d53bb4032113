import { contextBridge, ipcRenderer, type IpcRendererEvent } from 'electron';
import type { DesktopAnswer, DesktopApi, DesktopRequest } from '../protocol/desktop-api.ts';
import { sendBattery } from './battery.ts';

const call = (name: DesktopRequest['name'], input?: unknown): Promise<DesktopAnswer> =>
  ipcRenderer.invoke('desktop', { name, input });

/** A page requested before the panel started to listen. */
let early: string | null = null;
const keepEarly = (_event: IpcRendererEvent, path: unknown): void => {
  early = String(path);
};
ipcRenderer.on('go', keepEarly);

contextBridge.exposeInMainWorld('desktop', {
  view: () => call('view'),
  change: change => call('change', change),
  addFleet: fleet => call('add_fleet', fleet),
  changeFleet: change => call('change_fleet', change),
  removeFleet: id => call('remove_fleet', id),
  show: id => call('show', id),
  onGo(go) {
    const hear = (_event: IpcRendererEvent, path: unknown): void => go(String(path));
    ipcRenderer.off('go', keepEarly);
    ipcRenderer.on('go', hear);
    if (early !== null) go(early);
    early = null;
    return () => void ipcRenderer.off('go', hear);
  },
} satisfies DesktopApi);

sendBattery(battery => ipcRenderer.send('battery', battery));
