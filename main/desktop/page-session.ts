import type { Session } from 'electron';
import { isAt, mayLoad } from './rules.ts';

/** Origin of the page in the window, and the bearer for calls to it. */
export interface Shown {
  readonly origin: string;
  readonly bearer: string;
}

/**
 * Restricts the network access of the page to the server on display. Adds a bearer that neither the page nor its address ever
 * contains (docs/adr/0017). Denies all permissions except writing to the clipboard.
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

/** Copying a command still requires a click. */
const isHarmless = (permission: string): boolean => permission === 'clipboard-sanitized-write';
