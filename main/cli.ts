import { oldNodeMessage } from '../protocol/node-version.ts';

// Load the program only on a supported Node, because an older Node crashes while loading the program.
const message = oldNodeMessage(process.versions.node, process.execPath);
if (message === null) await import('./cli/main.ts');
else {
  process.stderr.write(message);
  process.exitCode = 2;
}
