import type { Session } from 'electron';
import { isAt, mayLoad } from './rules.ts';

/** What the window is loaded from, and what goes with each call there. */
export interface Shown {
  readonly origin: string;
  readonly bearer: string;
}

/**
 * The way of the page to the network: nowhere but to the server that is shown, and with a bearer that neither the page nor its
 * address ever has (docs/adr/0017). What a page may ask the system for, it may not have.
 */
export function guardSession(session: Session, shown: () => Shown | null): void {
  const { webRequest } = session;
  webRequest.onBeforeRequest((details, answer) => {
    const { origin } = shown() ?? { origin: '' };
    answer({ cancel: !mayLoad(details.url, origin) });
  });
  webRequest.onBeforeSendHeaders((details, answer) => {
    const now = shown();
    const isOwn = now !== null && isAt(details.url, now.origin);
    answer({
      requestHeaders: {
        ...details.requestHeaders,
        ...(isOwn ? { Authorization: `Bearer ${now.bearer}` } : {}),
      },
    });
  });
  session.setPermissionRequestHandler((_contents, permission, answer) => answer(isHarmless(permission)));
  session.setPermissionCheckHandler((_contents, permission) => isHarmless(permission));
  session.setDevicePermissionHandler(() => false);
}

/** Copying a command needs a click all the same. */
const isHarmless = (permission: string): boolean => permission === 'clipboard-sanitized-write';
