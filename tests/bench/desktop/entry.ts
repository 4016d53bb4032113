import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from '../program.ts';

/** Delays of the main process's event loop since the last reset, in ms. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The machine code in better-sqlite3 that returns the required Node-API version: `endbr64; mov eax, 10; ret`. */
const versionCode = Buffer.from('f30f1efab80a000000c3', 'hex');
const versionOffset = 5;
/** `NAPI_VERSION_EXPERIMENTAL`: the only version with which Node 20 permits references to strings, as version 10 does. */
const experimental = 0x7f_ff_ff_ff;

/**
 * Writes a copy of better-sqlite3's binary that Electron 33 can load, and returns its path. The binary requires version 10 of
 * Node-API, but Electron's Node 20 has version 9, with all functions that the binary uses. Returns null when the binary does not
 * contain the expected code.
 */
export function writeSqliteForNode20(folder: string): string | null {
  const original = createRequire(import.meta.url)
    .resolve('better-sqlite3')
    .replace(/lib[\\/]index\.js$/, 'prebuilds/linux-x64.node');
  const binary = readFileSync(original);
  const at = binary.indexOf(versionCode);
  if (at < 0 || binary.indexOf(versionCode, at + 1) >= 0) return null;
  binary.writeInt32LE(experimental, at + versionOffset);
  const file = join(folder, 'better-sqlite3-node-20.node');
  writeFileSync(file, binary);
  return file;
}

/**
 * Returns the source of the measured app's entry module. It starts the measurement of the main process's event loop, and then the
 * real app. With the experimental Node-API, SQLite's objects must not be garbage-collected, so the module keeps references to all
 * of them. This costs memory, but no time.
 */
export const entryWith = (sqlite: string): string => `
import { createRequire } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const { dlopen } = process;
process.dlopen = (module, file, ...flags) =>
  dlopen.call(process, module, /better-sqlite3.*\\.node$/.test(file) ? ${JSON.stringify(sqlite)} : file, ...flags);

const Database = createRequire(${JSON.stringify(join(root, 'dist/main/desktop.js'))})('better-sqlite3');
const kept = [];
const keepResults = (prototype, name) => {
  const method = prototype[name];
  prototype[name] = function keptCall(...args) {
    const result = method.apply(this, args);
    kept.push(this, result);
    return result;
  };
};
const database = new Database(':memory:');
keepResults(Object.getPrototypeOf(database[Object.getOwnPropertySymbols(database)[0]]), 'prepare');
keepResults(Object.getPrototypeOf(database.prepare('SELECT 1')), 'iterate');

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
globalThis.trainyardBench = {
  kept,
  reset: () => delay.reset(),
  read: () => ({ p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }),
};
await import('./dist/main/desktop.js');
`;
