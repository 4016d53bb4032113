import { ipcMain, type IpcMainEvent, type IpcMainInvokeEvent, type WebContents } from 'electron';
import { Battery, type DesktopAnswer, DesktopRequest } from '../../protocol/desktop-api.ts';
import { plainIssues } from '../../protocol/plain-issue.ts';
import { isAt } from './rules.ts';

export interface IpcDeps {
  /** Contents of the panel's window. */
  readonly contents: () => WebContents | null;
  /** Origin that the panel must have been loaded from. */
  readonly origin: () => string | null;
  readonly answer: (request: DesktopRequest) => DesktopAnswer | Promise<DesktopAnswer>;
  readonly onBattery: (battery: Battery) => void;
}

/**
 * Answers requests from the panel. Accepts them only from the panel's own page in its own window, and only when they match the
 * contract.
 */
export function answerPanel({ contents, origin, answer, onBattery }: IpcDeps): void {
  const isOurs = ({ sender, senderFrame }: IpcMainInvokeEvent | IpcMainEvent): boolean => {
    const [window, from] = [contents(), origin()];
    if (window === null || from === null || sender !== window) return false;
    return senderFrame !== null && senderFrame === window.mainFrame && isAt(senderFrame.url, from);
  };
  ipcMain.handle('desktop', (event, body: unknown): DesktopAnswer | Promise<DesktopAnswer> => {
    if (!isOurs(event)) throw new Error('this page may not ask that');
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
