import { fileURLToPath } from 'node:url';

/**
 * The file of the command line that tests start. `TRAINYARD_BUILT=1` says that `npm run build` has just run. The build starts
 * in half of the time of the sources, and tests start it hundreds of times.
 */
export const cliFile = fileURLToPath(
  new URL(
    process.env['TRAINYARD_BUILT'] === '1' ? '../../dist/main/cli.js' : '../../main/cli.ts',
    import.meta.url,
  ),
);
