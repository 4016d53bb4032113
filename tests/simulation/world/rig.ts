import type { WorkerId } from '../../../protocol/ids.ts';
import type { RigPlan } from '../plan/plan.ts';
import type { Link } from './link.ts';
import type { Machine } from './machine.ts';
import { type SimProcess, startProcess } from './process.ts';

/** An agent's process, once it has been started. */
export interface RunningAgent {
  /** How it ended by itself; never settles for one that is killed. */
  readonly exited: Promise<{
    readonly code: number;
    readonly wasRejected: boolean;
    /** It has left its training to the next one. */
    readonly isComingBack: boolean;
  }>;
  /** It holds a job, or believes so, or is about to leave: an offer would not be taken. */
  readonly isBusy: () => boolean;
  /** SIGTERM, as a spot machine's end sends it: the trainer is stopped. */
  leaveNow(): void;
  /** Makes way for a newer version of itself, which goes on with the training. */
  handOver(): void;
}

/** A machine with GPUs, the agent on it, and its owner, who starts the agent again. */
export interface Rig {
  readonly plan: RigPlan;
  readonly workerId: WorkerId;
  readonly machine: Machine;
  readonly link: Link;
  /** The agent's process, while there is one. */
  readonly process: SimProcess | null;
  /** Nobody will start it any more: it has left, was lost, or its worker is gone. */
  readonly isRetired: boolean;
  readonly isBusy: boolean;
  /** World time at which its agent was last started, stopped, held up, told to leave or let go on. */
  readonly changedAt: number;
  /** The token as its owner knows it. */
  readonly token: string;
  start(): void;
  /** kill -9 of the agent alone; its owner starts it again after this long. */
  kill(restartInMs: number): void;
  /** Power off, and on again. */
  reboot(downMs: number): void;
  /** Power off for ever, without a word to anybody. */
  lose(): void;
  preempt(): void;
  upgrade(): void;
  pause(): void;
  resume(): void;
  /** Its owner puts the new token where the agent looks for it, or starts the agent with it. */
  giveToken(token: string): void;
}

export interface RigParts {
  readonly now: () => number;
  readonly plan: RigPlan;
  readonly workerId: WorkerId;
  readonly token: string;
  readonly machine: Machine;
  readonly link: Link;
  readonly restartMs: () => number;
  /** What is lost with the machine's power. */
  readonly losePower: () => void;
  readonly note: (what: string) => void;
  /** Starts the agent's program; `token` is asked for whenever it looks. */
  readonly launch: (process: SimProcess, token: () => string) => RunningAgent;
}

export function createRig(parts: RigParts): Rig {
  const { plan, machine, link } = parts;
  let token = parts.token;
  let running: { readonly process: SimProcess; readonly agent: RunningAgent } | null = null;
  let isRetired = false;
  let awaitsToken = false;
  let changedAt = 0;

  const change = (what: string): void => {
    changedAt = parts.now();
    parts.note(what);
  };
  const start = (): void => {
    if (running !== null || isRetired) return;
    change('agent starts');
    const process = startProcess(machine, plan.name);
    const agent = parts.launch(process, () => token);
    running = { process, agent };
    void agent.exited.then(({ code, wasRejected, isComingBack }) => {
      if (running?.process !== process) return;
      change(`agent exits with ${code}${wasRejected ? ', its token refused' : ''}`);
      process.kill();
      running = null;
      awaitsToken = wasRejected;
      if (!plan.persistent && !wasRejected && !isComingBack) isRetired = true;
      else if (!wasRejected) machine.after(parts.restartMs(), start);
    });
  };
  const stop = (): void => {
    running?.process.kill();
    running = null;
  };

  return {
    plan,
    workerId: parts.workerId,
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
      parts.losePower();
      machine.after(downMs, start);
    },
    lose() {
      change('machine is lost');
      isRetired = true;
      link.impose({ cutUp: true, cutDown: true });
      link.breakStreams('half-open');
      stop();
      parts.losePower();
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
      change('agent is held up');
      running?.process.pause();
    },
    resume() {
      change('agent goes on');
      running?.process.resume();
    },
    giveToken(given) {
      change(`gets the token ${given}`);
      token = given;
      if (!awaitsToken) return;
      awaitsToken = false;
      machine.after(parts.restartMs(), start);
    },
  };
}
