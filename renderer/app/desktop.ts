import { useEffect } from 'react';
import { useLocation } from 'wouter';
import type { DesktopApi } from '../../protocol/desktop-api.ts';

declare global {
  interface Window {
    /** Put there by the app, and by nothing else. */
    readonly desktop?: DesktopApi;
  }
}

/** What the app around this page can do; null in a browser. */
export const desktop: DesktopApi | null = globalThis.window.desktop ?? null;

/** A link, a notification or the menu of the app asks for a page. */
export function useDesktopPages(): void {
  const [, go] = useLocation();
  useEffect(() => desktop?.onGo(path => go(path)), [go]);
}
