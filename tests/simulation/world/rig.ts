import type { WorkerId } from '../../../protocol/ids.ts';
import type { RigPlan } from '../plan/plan.ts';
import type { Link } from './link.ts';
import type { Machine } from './machine.ts';
import { type SimProcess, startProcess } from './process.ts';

/** The process of a running agent. */
export interface RunningAgent {
  /** Resolves when the agent exits by itself. Stays pending after a kill. */
  readonly exited: Promise<{
    readonly code: number;
    readonly wasRejected: boolean;
    /** True when the agent exits so that the next process can adopt its training. */
    readonly isComingBack: boolean;
  }>;
  /** Returns true when the agent would refuse an offer: it has a job, believes that it has one, or is about to leave. */
  readonly isBusy: () => boolean;
  /** Makes the agent stop its trainer and leave, as before the end of a spot instance. */
  leaveNow(): void;
  /** Makes the agent exit for an upgrade. The next version adopts the training. */
  handOver(): void;
}

/** A machine with GPUs, its agent, and an owner who restarts the agent. */
export interface Rig {
  readonly plan: RigPlan;
  readonly workerId: WorkerId;
  readonly machine: Machine;
  readonly link: Link;
  /** The agent's process; null while none runs. */
  readonly process: SimProcess | null;
  /** True when the agent will not start again, because it has left or the machine is lost. */
  readonly isRetired: boolean;
  readonly isBusy: boolean;
  /** Virtual time of the simulation at which the agent was last started, stopped, paused, resumed or told to leave. */
  readonly changedAt: number;
  /** The newest token that the owner has. */
  readonly token: string;
  start(): void;
  /** Kills only the agent. The owner restarts it after this time in ms. */
  kill(restartInMs: number): void;
  /** Turns the machine off, and on again after `downMs`. */
  reboot(downMs: number): void;
  /** Turns the machine off forever, without a goodbye. */
  lose(): void;
  preempt(): void;
  upgrade(): void;
  pause(): void;
  resume(): void;
  /** Stores the owner's new token. Restarts the agent if it has exited because of a refused token. */
  giveToken(token: string): void;
}

export interface RigDeps {
  readonly now: () => number;
  readonly plan: RigPlan;
  readonly workerId: WorkerId;
  readonly token: string;
  readonly machine: Machine;
  readonly link: Link;
  readonly restartMs: () => number;
  /** Drops all state that a power cut destroys. */
  readonly losePower: () => void;
  readonly note: (what: string) => void;
  /** Starts the agent. `token` returns the newest token that the owner has stored. */
  readonly launch: (process: SimProcess, token: () => string) => RunningAgent;
}

export function createRig(deps: RigDeps): Rig {
  const { plan, machine, link } = deps;
  let token = deps.token;
  let running: { readonly process: SimProcess; readonly agent: RunningAgent } | null = null;
  let isRetired = false;
  let awaitsToken = false;
  let changedAt = 0;

  const change = (what: string): void => {
    changedAt = deps.now();
    deps.note(what);
  };
  const start = (): void => {
    if (running !== null || isRetired) return;
    change('agent starts');
    const process = startProcess(machine, plan.name);
    const agent = deps.launch(process, () => token);
    running = { process, agent };
    void agent.exited.then(({ code, wasRejected, isComingBack }) => {
      if (running?.process !== process) return;
      change(`agent exits with ${code}${wasRejected ? ', its token refused' : ''}`);
      process.kill();
      running = null;
      awaitsToken = wasRejected;
      if (!plan.persistent && !wasRejected && !isComingBack) isRetired = true;
      else if (!wasRejected) machine.after(deps.restartMs(), start);
    });
  };
  const stop = (): void => {
    running?.process.kill();
    running = null;
  };

  return {
    plan,
    workerId: deps.workerId,
    machine,
    link,
    get process() {
      return running?.process ?? null;
    },
    get isRetired() {
      return isRetired;
    },
    get isBusy() {
      return running?.agent.isBusy() ?? true;
    },
    get changedAt() {
      return changedAt;
    },
    get token() {
      return token;
    },
    start,
    kill(restartInMs) {
      if (running === null) return;
      change('agent is killed');
      stop();
      machine.after(restartInMs, start);
    },
    reboot(downMs) {
      change('machine goes down');
      stop();
      deps.losePower();
      machine.after(downMs, start);
    },
    lose() {
      change('machine is lost');
      isRetired = true;
      link.impose({ cutUp: true, cutDown: true });
      link.breakStreams('half-open');
      stop();
      deps.losePower();
    },
    preempt() {
      if (running === null) return;
      change('machine is taken back: SIGTERM');
      running.agent.leaveNow();
    },
    upgrade() {
      if (running === null) return;
      change('agent is upgraded');
      running.agent.handOver();
    },
    pause() {
      change('agent is paused');
      running?.process.pause();
    },
    resume() {
      change('agent resumes');
      running?.process.resume();
    },
    giveToken(given) {
      change(`gets the token ${given}`);
      token = given;
      if (!awaitsToken) return;
      awaitsToken = false;
      machine.after(deps.restartMs(), start);
    },
  };
}
