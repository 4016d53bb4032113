/** Makes the built panel an installable app: adds the manifest, the icons, and the service worker with the hash of the build. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Output {
  fileName: string;
  code?: string;
}

interface Emitter {
  emitFile(file: { type: 'asset'; fileName: string; source: Buffer }): void;
}

const folder = join(import.meta.dirname, '../renderer/install');
const entry = 'service-worker';
const placeholder = '__PANEL_BUILD__';

/** Entries of the panel's build: the page, the service worker, and the page that it shows when the server is unreachable. */
export const panelInputs = {
  index: 'renderer/index.html',
  unreachable: 'renderer/install/unreachable.html',
  [entry]: 'renderer/install/service-worker.ts',
};

/** Returns the file name of a script. Files with a hash are cached forever, but the service worker needs a constant name. */
export const entryFileNames = ({ name }: { readonly name: string }): string =>
  name === entry ? `${entry}.js` : 'assets/[name]-[hash].js';

export const installablePanel = {
  name: 'installable-panel',
  enforce: 'post' as const,
  applyToEnvironment: ({ name }: { readonly name: string }) => name === 'client',
  generateBundle(this: Emitter, _options: unknown, bundle: Readonly<Record<string, Output>>) {
    const page = bundle['renderer/install/unreachable.html'];
    if (page !== undefined) page.fileName = 'unreachable.html';
    const files = Object.values(bundle).map(({ fileName }) => fileName);
    const worker = bundle[`${entry}.js`];
    if (worker?.code?.includes(placeholder) !== true)
      throw new Error('the service worker has no place for the hash of the build');
    if (/^\s*(?:import|export)\b/m.test(worker.code)) throw new Error('the service worker is not one file');
    const hash = createHash('sha256').update(files.toSorted().join('\n')).digest('hex').slice(0, 16);
    worker.code = worker.code.replaceAll(placeholder, hash);
    const emit = (name: string, path: string): void =>
      this.emitFile({ type: 'asset', fileName: name, source: readFileSync(join(folder, path)) });
    emit('manifest.webmanifest', 'manifest.webmanifest');
    for (const icon of readdirSync(join(folder, 'icons'))) emit(`icons/${icon}`, `icons/${icon}`);
  },
};
