/**
 * `node --import THIS dist/main/desktop.js`: runs the real program of the app where Electron can not be had. What stands for
 * Electron is in ./electron.ts; its windows are pages of Debian's Chromium, and all else is written down (./control.ts).
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron'
      ? { url: new URL('electron.ts', import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
