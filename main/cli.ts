import { oldNodeMessage } from '../protocol/node-version.ts';

// Load the rest only on a supported Node, because an older one crashes while loading it.
const message = oldNodeMessage(process.versions.node, process.execPath);
if (message === null) await import('./cli/main.ts');
else {
  process.stderr.write(message);
  process.exitCode = 2;
}
