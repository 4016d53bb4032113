import { useEffect } from 'react';
import { useLocation } from 'wouter';
import type { DesktopApi } from '../../protocol/desktop-api.ts';

declare global {
  interface Window {
    /** Set only by the desktop app. */
    readonly desktop?: DesktopApi;
  }
}

/** The API of the desktop app around this page; null in a browser. */
export const desktop: DesktopApi | null = globalThis.window.desktop ?? null;

/** Opens the page that a link, a notification or the app's menu requests. */
export function useDesktopPages(): void {
  const [, go] = useLocation();
  useEffect(() => desktop?.onGo(path => go(path)), [go]);
}
