/**
 * Preload script that makes the program exit cleanly when its parent process ends for any reason. The end of the parent closes
 * stdin. Reading stdin does not keep the program alive.
 */
import { Socket } from 'node:net';

const { stdin } = process;
stdin.on('error', () => undefined);
stdin.on('close', () => process.kill(process.pid, 'SIGTERM'));
stdin.resume();
if (stdin instanceof Socket) stdin.unref();
