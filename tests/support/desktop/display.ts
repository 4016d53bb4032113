import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Display {
  /** The value of the variable `DISPLAY`; null when there is no display and no Xvfb. */
  readonly name: string | null;
  readonly close: () => void;
}

/** Returns the display in `DISPLAY`, or starts a virtual display with Xvfb. */
export async function openDisplay(): Promise<Display> {
  const existing = process.env['DISPLAY'];
  if (existing) return { name: existing, close() {} };
  const server: ChildProcess = spawn(
    'Xvfb',
    ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    },
  );
  const failed = new Promise<null>(resolve => {
    server.once('error', () => resolve(null));
    server.once('exit', () => resolve(null));
  });
  const pipe = server.stdio[3];
  if (!pipe || !('read' in pipe)) return { name: null, close() {} };
  const number = await Promise.race([
    failed,
    new Promise<string>(resolve => {
      createInterface({ input: pipe }).once('line', resolve);
    }),
  ]);
  return { name: number === null ? null : `:${number}`, close: () => void server.kill() };
}
