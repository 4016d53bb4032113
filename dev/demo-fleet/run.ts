/** `npm run demo-fleet`: runs simulated workers for a running orchestrator. See CONTRIBUTING.md. */
import { runProgram } from '../../main/cli/program.ts';
import { processDeps } from '../../main/cli/terminal.ts';
import { demoFleetCommand } from './fleet.ts';

process.exitCode = await runProgram(process.argv.slice(2), processDeps(), demoFleetCommand);
