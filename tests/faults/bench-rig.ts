import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChaosProxy } from '../support/chaos-proxy.ts';
import type { Failpoint } from '../support/failpoint.ts';
import { signal } from '../support/own-processes.ts';
import { type Program, root, startProgram } from '../support/processes.ts';

/** A machine with an agent that reaches the orchestrator only through its own proxy. */
export interface Rig {
  /** The worker's id. */
  readonly id: string;
  readonly name: string;
  readonly proxy: ChaosProxy;
  /** The newest issued token. */
  token: string;
  readonly tokenFile: string;
  readonly stateHome: string;
  /** The agent that was started last. */
  readonly agent: Program;
  /** The output of all its agents. */
  lines(): readonly string[];
  /** Starts an agent without waiting for anything. */
  start(options?: AgentOptions): Program;
  /** Signals the agent alone. */
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL to the agent alone and waits for its end. */
  kill(): Promise<void>;
}

export interface AgentOptions {
  /** `file`, which may be replaced at any time, or `environment`. */
  readonly tokenFrom?: 'file' | 'environment';
  readonly persistent?: boolean;
  readonly failpoint?: Failpoint;
  /** Simulates another machine: its state folder, and its path to the orchestrator. */
  readonly stateHome?: string;
  readonly via?: ChaosProxy;
}

export interface RigDeps {
  readonly id: string;
  readonly name: string;
  readonly token: string;
  readonly proxy: ChaosProxy;
  readonly folder: string;
  readonly trainerRecord: string;
  readonly env: Readonly<Record<string, string>>;
}

const stubTrainer = join(root, 'tests/support/stub-trainer.ts');

export function createRig({ id, name, token, proxy, folder, trainerRecord, env }: RigDeps): Rig {
  const stateHome = join(folder, `state-${name}`);
  const tokenFile = join(folder, `token-${name}`);
  const programs: Program[] = [];
  mkdirSync(stateHome, { recursive: true, mode: 0o700 });
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const trainer = `'${process.execPath}' '${stubTrainer}' --config {config_path} --record '${trainerRecord}'`;
  const current = (): Program => {
    const program = programs.at(-1);
    if (program === undefined) throw new Error(`${name} has no agent yet`);
    return program;
  };
  const rig: Rig = {
    id,
    name,
    proxy,
    token,
    tokenFile,
    stateHome,
    get agent() {
      return current();
    },
    lines: () => programs.flatMap(({ lines }) => lines),
    start({
      tokenFrom = 'file',
      persistent = true,
      failpoint,
      stateHome: home = stateHome,
      via = proxy,
    } = {}) {
      const preload = failpoint === undefined ? [] : ['--import', failpoint.preload];
      const flags = ['--orchestrator-url', via.url, '--name', name, '--trainer', trainer];
      const tokenFlags = tokenFrom === 'file' ? ['--worker-token-file', tokenFile] : [];
      const program = startProgram(
        [
          process.execPath,
          ...preload,
          join(root, 'agent/main.ts'),
          ...flags,
          ...tokenFlags,
          ...(persistent ? ['--persistent'] : []),
        ],
        {
          env: {
            ...env,
            ...failpoint?.env,
            XDG_STATE_HOME: home,
            XDG_CONFIG_HOME: home,
            ...(tokenFrom === 'environment' && { SIMPLETUNER_WORKER_TOKEN: rig.token }),
          },
        },
      );
      programs.push(program);
      return program;
    },
    signal: name_ => void signal(current().pid, name_),
    async kill() {
      signal(current().pid, 'SIGKILL');
      await current().exited;
    },
  };
  return rig;
}
