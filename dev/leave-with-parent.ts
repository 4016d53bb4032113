/**
 * A preload script. It makes the program exit cleanly when its parent process has ended for any reason. It detects that by
 * the end of stdin. Reading stdin does not keep the process alive.
 */
import { Socket } from 'node:net';

const { stdin } = process;
stdin.on('error', () => undefined);
stdin.on('close', () => process.kill(process.pid, 'SIGTERM'));
stdin.resume();
if (stdin instanceof Socket) stdin.unref();
