import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signal } from '../support/own-processes.ts';
import { type Program, root, startProgram } from '../support/processes.ts';
import { type ExitLine, type Journal, machineNow } from './journal.ts';
import type { Link } from './link.ts';

/** A simulated machine. It restarts its agent whenever the agent ends, as a service manager does. */
export interface Rig {
  /** The worker's id. */
  readonly id: string;
  readonly name: string;
  readonly link: Link;
  readonly pid: number;
  /** The log lines of all agents that ran on this rig. */
  lines(): readonly string[];
  /** Sends a signal that ends the agent. The next agent starts `downMs` after its end. */
  end(signalName: NodeJS.Signals, downMs: number): void;
  signal(signalName: 'SIGSTOP' | 'SIGCONT'): void;
  /** The current content of the token file. */
  readonly token: string;
  /** Replaces the token in the file. */
  writeToken(token: string): void;
  /** Accepts exits because of a refused token, until the returned function is called. */
  expectRefusal(): () => void;
  /** Stops the agent for good. Returns true when the agent exited in an orderly way within the limit. */
  close(limitMs: number): Promise<boolean>;
}

export interface RigOptions {
  readonly id: string;
  readonly name: string;
  readonly token: string;
  readonly isPersistent: boolean;
  readonly link: Link;
  readonly folder: string;
  readonly trainerJournal: string;
  readonly exits: Journal<ExitLine>;
  readonly env: Readonly<Record<string, string>>;
}

const restartMs = 200;
/** The agent's exit code when the server refuses its token (docs/workers.md). */
const tokenRefusedCode = 3;

export function openRig(options: RigOptions): Rig {
  const { id, name, link, folder, exits } = options;
  const stateHome = join(folder, `state-${name}`);
  const tokenFile = join(folder, `token-${name}`);
  const lines: string[] = [];
  let { token } = options;
  let downMs = restartMs;
  /** The reason why the run expects the next end of the agent; null while it expects none. */
  let expectedReason: string | null = null;
  /** Number of callers that currently expect a refused token. */
  let refusals = 0;
  let isClosing = false;
  mkdirSync(stateHome, { recursive: true, mode: 0o700 });
  writeFileSync(tokenFile, options.token, { mode: 0o600 });

  const reasonFor = (code: number | null): string | null => {
    if (expectedReason !== null) return expectedReason;
    if (code === 0 && !options.isPersistent) return 'leaves after one job';
    return code === tokenRefusedCode && refusals > 0 ? 'its token is refused' : null;
  };
  const start = (): Program => {
    const agent = startProgram(commandOf(options, tokenFile), {
      env: { ...options.env, XDG_STATE_HOME: stateHome, XDG_CONFIG_HOME: stateHome },
    });
    void agent.exited.then(({ code, signal: endSignal }) => {
      lines.push(...agent.lines, `--- ended: ${JSON.stringify({ code, signal: endSignal })}`);
      exits.write({
        at: machineNow(),
        who: name,
        pid: agent.pid,
        code,
        signal: endSignal,
        expected: reasonFor(code),
      });
      const waitMs = downMs;
      expectedReason = null;
      downMs = restartMs;
      if (isClosing) return;
      setTimeout(() => {
        if (!isClosing) current = start();
      }, waitMs);
    });
    return agent;
  };
  let current = start();
  return {
    id,
    name,
    link,
    get pid() {
      return current.pid;
    },
    get token() {
      return token;
    },
    lines: () => [...lines, ...current.lines],
    end(signalName, pauseMs) {
      expectedReason = `${signalName} of the run`;
      downMs = pauseMs;
      signal(current.pid, signalName);
    },
    signal: signalName => void signal(current.pid, signalName),
    writeToken(newToken) {
      token = newToken;
      writeFileSync(`${tokenFile}.new`, newToken, { mode: 0o600 });
      renameSync(`${tokenFile}.new`, tokenFile);
    },
    expectRefusal() {
      refusals += 1;
      return () => {
        refusals -= 1;
      };
    },
    async close(limitMs) {
      isClosing = true;
      expectedReason = 'the run is over';
      signal(current.pid, 'SIGCONT');
      signal(current.pid, 'SIGTERM');
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        signal(current.pid, 'SIGKILL');
      }, limitMs);
      const { code } = await current.exited;
      clearTimeout(timer);
      return !isLate && (code === 0 || code === tokenRefusedCode);
    },
  };
}

const quoted = (word: string): string => `'${word}'`;

function commandOf(options: RigOptions, tokenFile: string): readonly string[] {
  const trainer = [
    quoted(process.execPath),
    quoted(join(root, 'tests/chaos/trainer.ts')),
    '--config {config_path} --output {output_dir} --resume {resume_from} --journal',
    quoted(options.trainerJournal),
  ].join(' ');
  return [
    process.execPath,
    join(root, 'agent/main.ts'),
    '--orchestrator-url',
    options.link.url,
    '--name',
    options.name,
    '--worker-token-file',
    tokenFile,
    '--work-dir',
    join(options.folder, `work-${options.name}`),
    '--trainer',
    trainer,
    ...(options.isPersistent ? ['--persistent'] : []),
  ];
}
