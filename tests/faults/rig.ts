import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChaosProxy } from '../support/chaos-proxy.ts';
import type { Failpoint } from '../support/failpoint.ts';
import { signal } from '../support/own-processes.ts';
import { type Program, root, startProgram } from '../support/processes.ts';

/** A simulated machine with an agent. The agent reaches the orchestrator only through the rig's own proxy. */
export interface Rig {
  /** The worker's id. */
  readonly id: string;
  readonly name: string;
  readonly proxy: ChaosProxy;
  /** The newest token of the worker. */
  token: string;
  readonly tokenFile: string;
  readonly stateHome: string;
  /** The newest process of the agent. */
  readonly agent: Program;
  /** The log lines of all agents that ran on this rig. */
  lines(): readonly string[];
  /** Starts an agent without waiting for its connection. */
  start(options?: AgentOptions): Program;
  /** Sends a signal to the agent, but not to its guard or trainer. */
  signal(name: NodeJS.Signals): void;
  /** Kills only the agent, and waits for its end. */
  kill(): Promise<void>;
}

export interface AgentOptions {
  /** `file`: the agent reads the token from a file that the test can replace. `environment`: from an environment variable. */
  readonly tokenFrom?: 'file' | 'environment';
  readonly persistent?: boolean;
  readonly failpoint?: Failpoint;
  /** State folder and proxy of a second machine that runs an agent with the same token. */
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
      const nodeArgs = failpoint === undefined ? [] : ['--import', failpoint.preload];
      const args = ['--orchestrator-url', via.url, '--name', name, '--trainer', trainer];
      if (tokenFrom === 'file') args.push('--worker-token-file', tokenFile);
      if (persistent) args.push('--persistent');
      const program = startProgram([process.execPath, ...nodeArgs, join(root, 'agent/main.ts'), ...args], {
        env: {
          ...env,
          ...failpoint?.env,
          XDG_STATE_HOME: home,
          XDG_CONFIG_HOME: home,
          ...(tokenFrom === 'environment' && { SIMPLETUNER_WORKER_TOKEN: rig.token }),
        },
      });
      programs.push(program);
      return program;
    },
    signal: signalName => void signal(current().pid, signalName),
    async kill() {
      signal(current().pid, 'SIGKILL');
      await current().exited;
    },
  };
  return rig;
}
