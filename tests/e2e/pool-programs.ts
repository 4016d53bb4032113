/** Programs of a `command` engine that keep the state of their machines in files. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cliFile } from '../support/program-files.ts';

/**
 * The engine's reaction to an order. `waiting`: the order stays in the queue. `silent`: a machine starts, but no worker
 * registers. `running`: a real worker starts. `refusing`: the order is permanently refused. `broken`: the list fails.
 */
export type EngineBehaviour = 'waiting' | 'silent' | 'running' | 'refusing' | 'broken';

/** Shell command of the program `check`, for an engine that works. */
const check = `echo '{ "ok": true, "version": "22.05.8", "detail": "The account lab may submit to 2 queues.", "queues": [
  { "name": "a100", "limits": "8 nodes with 8 GPUs, at most 2 days" }, { "name": "debug", "limits": "1 node, at most 30 min" } ] }'`;
const checkBroken = `echo '{ "ok": false, "detail": "The controller does not answer. Ask its administrators." }'`;

/** JavaScript expression of the machine that the program `launch` creates; `null` refuses the order. */
const machines: Readonly<Record<EngineBehaviour, string>> = {
  waiting: `{ state: 'waiting', reason: { kind: 'resources', text: 'Resources' }, expected_start: new Date(now + 840_000) }`,
  silent: `{ state: 'running', started_at: new Date(now), nodes: ['node-3'] }`,
  running: `{ state: 'running', started_at: new Date(now), nodes: ['node-7'], ends_at: new Date(now + order.wall_time_s * 1_000) }`,
  refusing: 'null',
  broken: '{}',
};

/** Code of `launch`: reads an order from the standard input, stores the machine in a file, and prints the result. */
const launch = (behaviour: EngineBehaviour): string => `
const stdin = 0;
const order = JSON.parse(fs.readFileSync(stdin, 'utf8'));
const now = Date.now();
const machine = ${machines[behaviour]};
if (machine === null) {
  print({ result: 'rejected', scope: 'permanent', code: 'gres', message: 'Requested node configuration is not available' });
} else {
  const engine_id = String(4_000 + fs.readdirSync('machines').length);
  fs.writeFileSync(\`machines/\${order.name}\`, JSON.stringify({ name: order.name, engine_id, ...machine }));
  if (${behaviour === 'running'}) {
    const env = { ...process.env, TRAINYARD_JOIN: order.join_token };
    require('node:child_process').spawn('sh', ['-c', order.start], { env, detached: true, stdio: 'ignore' }).unref();
  }
  print({ result: 'accepted', engine_id });
}`;

/** Code of `list`: prints all machines, or fails. */
const list = (behaviour: EngineBehaviour): string =>
  behaviour === 'broken'
    ? `console.error('Unable to contact the controller'); process.exit(1);`
    : `
const readMachine = name => JSON.parse(fs.readFileSync('machines/' + name, 'utf8'));
print({ launches: fs.readdirSync('machines').map(readMachine) });`;

/** Code of `end`: reads names from the standard input, and marks these machines as ended. */
const end = `
const stdin = 0;
for (const name of JSON.parse(fs.readFileSync(stdin, 'utf8')).names) {
  const file = 'machines/' + name;
  if (!fs.existsSync(file)) continue;
  const machine = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...machine, state: 'ended', exit: 'completed' }));
}`;

/**
 * Writes the engine's programs into the server's data folder. Returns the path of the worker program for the machines.
 */
export function writePrograms(dataDir: string, name: string, behaviour: EngineBehaviour): string {
  const folder = join(dataDir, 'engines', name);
  mkdirSync(join(folder, 'machines'), { recursive: true });

  const writeScript = (file: string, text: string): string => {
    const path = join(folder, file);
    writeFileSync(path, text);
    chmodSync(path, 0o700);
    return path;
  };
  const nodeScript = (text: string): string => `#!${process.execPath}
const fs = require('node:fs');
process.chdir(__dirname);
const print = response => console.log(JSON.stringify(response));
${text}
`;
  writeScript('check', `#!/bin/sh\n${behaviour === 'broken' ? checkBroken : check}\n`);
  writeScript('launch', nodeScript(launch(behaviour)));
  writeScript('list', nodeScript(list(behaviour)));
  writeScript('end', nodeScript(end));
  return writeScript('worker', `#!/bin/sh\nexec '${process.execPath}' '${cliFile}' worker "$@"\n`);
}
