/**
 * A preload: the program under it leaves in order when whoever started it is gone, however that ended. It hears of that by
 * the end of its stdin, which keeps nobody running.
 */
import { Socket } from 'node:net';

const { stdin } = process;
stdin.on('error', () => undefined);
stdin.on('close', () => process.kill(process.pid, 'SIGTERM'));
stdin.resume();
if (stdin instanceof Socket) stdin.unref();
