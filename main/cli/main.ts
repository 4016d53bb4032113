import { runCli } from './program.ts';
import { processDeps } from './terminal.ts';

process.exitCode = await runCli(process.argv.slice(2), processDeps());
