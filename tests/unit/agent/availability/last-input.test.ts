import { expect, it } from 'vitest';
import { openLastInput } from '../../../../agent/availability/last-input.ts';
import type { CommandResult, RunCommand } from '../../../../agent/process/run-command.ts';

const now = 1_800_000_000_000;
const exited = (stdout: string, code = 0): CommandResult => ({ kind: 'exited', code, stdout, stderr: '' });

/** Returns the time of the last keyboard or mouse input on this platform. `answer` returns the result of each command. */
const readLastInput = (platform: string, answer: (argv: readonly string[]) => CommandResult) => {
  const run: RunCommand = async (command, args) => answer([command, ...args]);
  return openLastInput({ run, platform, wall: () => now })?.();
};

/** The properties of a session as logind prints them. */
const session = (overrides: Record<string, string>): string =>
  Object.entries({
    Type: 'wayland',
    Class: 'user',
    Remote: 'no',
    State: 'active',
    IdleHint: 'yes',
    IdleSinceHint: `${(now - 1_000_000) * 1_000}`,
    LockedHint: 'no',
    ...overrides,
  })
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');

/**
 * Returns the time of the last input on Linux with these sessions. `loginctl` first lists the sessions, and then prints their
 * properties.
 */
const readOnLinux = (...sessions: readonly string[]) =>
  readLastInput('linux', argv =>
    argv[1] === 'list-sessions'
      ? exited(sessions.map((_, n) => `      ${n + 1} 1000 ada seat0 tty2 active no -`).join('\n'))
      : exited(sessions.join('\n\n')),
  );

it.each<[string, Record<string, string>, number | null]>([
  ['a desktop that is in use', { IdleHint: 'no' }, now],
  ['a desktop that is idle', {}, now - 1_000_000],
  ['a locked desktop', { IdleHint: 'no', LockedHint: 'yes' }, null],
  ['a text console', { Type: 'tty', IdleHint: 'no', IdleSinceHint: `${(now - 5) * 1_000}` }, now - 5],
  ['a session over SSH', { Type: 'tty', IdleHint: 'no', Remote: 'yes' }, null],
  ['the login screen', { Class: 'greeter', IdleHint: 'no' }, null],
  ['a session that has been logged out', { State: 'closing', IdleHint: 'no' }, null],
  ['a session without input devices', { Type: 'unspecified', IdleHint: 'no' }, null],
  ['a session that was never idle', { Type: 'tty', IdleSinceHint: '0' }, null],
])('reads the time of the last input of %s from logind', async (_title, overrides, expected) => {
  expect(await readOnLinux(session(overrides))).toBe(expected);
});

it('returns the time of the newest input of several sessions', async () => {
  const older = session({ IdleSinceHint: `${(now - 9_000_000) * 1_000}` });
  expect(await readOnLinux(older, session({}), session({ Remote: 'yes', IdleHint: 'no' }))).toBe(
    now - 1_000_000,
  );
});

it.each<[string, CommandResult]>([
  ['there is no logind', { kind: 'missing' }],
  ['logind fails', exited('', 1)],
  ['nobody is logged in', exited('')],
])('returns null as the time of the last input when %s', async (_title, result) => {
  expect(await readLastInput('linux', () => result)).toBeNull();
});

it('computes the time of the last input from the idle time of macOS', async () => {
  const output = '    | |   "HIDIdleTime" = 61000000000\n';
  expect(await readLastInput('darwin', () => exited(output))).toBe(now - 61_000);
  expect(await readLastInput('darwin', () => exited('nothing'))).toBeNull();
});

it('offers no detection of input on Windows', () => {
  expect(readLastInput('win32', () => exited(''))).toBeUndefined();
});
