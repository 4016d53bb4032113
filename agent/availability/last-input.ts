/** Finds out when a person last used the keyboard or the mouse of this machine, if the system reports that. */

import type { RunCommand } from '../process/run-command.ts';

/**
 * Returns the time of the last input, in ms since the Unix epoch; null when nobody is logged in at the machine, or when
 * the system does not report it. Never rejects.
 */
export type LastInput = () => Promise<number | null>;

export interface LastInputDeps {
  readonly run: RunCommand;
  readonly platform: string;
  /** ms since the Unix epoch. */
  readonly wall: () => number;
}

/** Returns null on platforms without a tool for this. */
export function openLastInput({ run, platform, wall }: LastInputDeps): LastInput | null {
  if (platform === 'linux') return () => lastOfSessions(run, wall);
  return platform === 'darwin' ? () => lastOfHid(run, wall) : null;
}

const properties = ['Type', 'Class', 'Remote', 'State', 'IdleHint', 'IdleSinceHint', 'LockedHint'];

/** Asks systemd-logind for the sessions at this machine. Sessions over SSH and locked screens do not count. */
async function lastOfSessions(run: RunCommand, wall: () => number): Promise<number | null> {
  const listed = await outputOf(run, 'loginctl', ['list-sessions', '--no-legend']);
  const ids = (listed ?? '').split('\n').flatMap(line => /^\s*([\w.-]+)\s/.exec(line)?.[1] ?? []);
  if (ids.length === 0) return null;
  const shown = await outputOf(run, 'loginctl', [
    'show-session',
    ...ids,
    ...properties.map(name => `--property=${name}`),
  ]);
  const inputs = (shown ?? '').split(/\n\s*\n/).flatMap(block => inputOf(block, wall()) ?? []);
  return inputs.length === 0 ? null : Math.max(...inputs);
}

const graphical: readonly string[] = ['x11', 'wayland', 'mir'];

function inputOf(block: string, now: number): number | null {
  const fields = new Map(
    block.split('\n').map(line => {
      const [name = '', value = ''] = line.trim().split(/=(.*)/s, 2);
      return [name, value];
    }),
  );
  const isHere = fields.get('Class') === 'user' && fields.get('Remote') === 'no';
  if (!isHere || fields.get('State') === 'closing' || fields.get('LockedHint') === 'yes') return null;
  const type = fields.get('Type') ?? '';
  // The desktop sets the hint after some minutes without input. While the hint is "no", the last input counts as now.
  if (graphical.includes(type) && fields.get('IdleHint') === 'no') return now;
  // IdleSinceHint is in microseconds. For a text console, it is the time of the last input even while the hint is "no".
  const since = Number(fields.get('IdleSinceHint') ?? '') / 1_000;
  return (graphical.includes(type) || type === 'tty') && since > 0 ? since : null;
}

/** Asks macOS. `HIDIdleTime` is in nanoseconds. */
async function lastOfHid(run: RunCommand, wall: () => number): Promise<number | null> {
  const shown = await outputOf(run, 'ioreg', ['-c', 'IOHIDSystem', '-d', '4']);
  const [, idle] = /"HIDIdleTime" = (\d{1,20})/.exec(shown ?? '') ?? [];
  return idle === undefined ? null : wall() - Number(idle) / 1e6;
}

async function outputOf(run: RunCommand, program: string, args: readonly string[]): Promise<string | null> {
  const result = await run(program, args);
  return result.kind === 'exited' && result.code === 0 ? result.stdout : null;
}
