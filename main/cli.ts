#!/usr/bin/env node
import { oldNodeMessage } from '../protocol/node-version.ts';

// The rest is only loaded by a Node that can run it: an older one crashes on the way.
const message = oldNodeMessage(process.versions.node, process.execPath);
if (message === null) await import('./cli/main.ts');
else {
  process.stderr.write(message);
  process.exitCode = 2;
}
