/**
 * The programs that tests start. With `TRAINYARD_BUILT=1`, tests start the builds of `npm run build`. Builds start in half the
 * time of the sources, and tests start programs hundreds of times.
 */
import { fileURLToPath } from 'node:url';

const isBuilt = process.env['TRAINYARD_BUILT'] === '1';
const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

/** The command line, which also contains the server and the worker. */
export const cliFile = pathOf(isBuilt ? 'dist/main/cli.js' : 'main/cli.ts');

/** The worker program that the machines of a pool run. */
export const workerFile = pathOf(isBuilt ? 'dist/agent/trainyard-worker.mjs' : 'agent/main.ts');
