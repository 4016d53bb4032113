/**
 * `node --import THIS dist/main/desktop.js`: runs the real desktop program where Electron is not available.
 * ./electron.ts replaces Electron. Windows are pages in Debian's Chromium; ./control.ts records everything else.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron'
      ? { url: new URL('electron.ts', import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
