/**
 * A preload script: the program exits cleanly when its parent is gone, however the parent ended. It detects that by the end of stdin, which
 * does not keep the process alive.
 */
import { Socket } from 'node:net';

const { stdin } = process;
stdin.on('error', () => undefined);
stdin.on('close', () => process.kill(process.pid, 'SIGTERM'));
stdin.resume();
if (stdin instanceof Socket) stdin.unref();
