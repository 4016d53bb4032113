/**
 * Preload for `node --import`. It runs the real dist/main/desktop.js on machines without Electron, with ./electron.ts in place of
 * Electron. Windows are pages in Debian's Chromium. ./control.ts records the app's other calls to Electron.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron'
      ? { url: new URL('electron.ts', import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
