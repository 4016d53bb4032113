import type { Fault, Place } from '../plan/plan.ts';
import type { Disk } from './disk.ts';
import type { Link } from './link.ts';
import type { OrchestratorHost } from './orchestrator-host.ts';
import type { People } from './people.ts';
import type { SceneRig } from './scene.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';

export interface Troubles {
  begin(fault: Fault): void;
  /**
   * Ends all faults, resumes or starts the orchestrator, and starts all stopped agents except those on retired rigs
   * (`Rig.isRetired`).
   */
  heal(): void;
  /** Kills and restarts the orchestrator at the moment of an armed crash. */
  onCrash(): void;
  /** Called when a trainer starts on this machine. Starts the outage of the fault `disconnect rig of next trainer`. */
  onTrainer(machine: string): void;
}

interface TroubleDeps {
  readonly world: VirtualClock;
  readonly disk: Disk;
  readonly host: OrchestratorHost;
  readonly people: People;
  readonly rigOf: (index: number) => SceneRig | null;
  readonly linkOf: (place: Place) => Link | null;
  readonly links: () => readonly Link[];
  readonly rigs: () => readonly SceneRig[];
  readonly note: (what: string) => void;
}

/** A fault that affects only one rig. */
type RigFault = Exclude<Extract<Fault, { rig: number }>, { kind: 'set clock' }>;

export function createTroubles(deps: TroubleDeps): Troubles {
  const { world, disk, host } = deps;
  /** Functions that end the active faults. Each function runs once. */
  const undos = new Set<() => void>();
  let isHealed = false;
  let restartInMs = 0;
  let outageMs: number | null = null;

  /** Calls `undo` once: after `forMs`, or when all faults end. */
  const undoAfter = (forMs: number, undo: () => void): void => {
    const end = (): void => {
      if (undos.delete(end)) undo();
    };
    undos.add(end);
    world.after(forMs, end);
  };
  /** Ends the orchestrator's process with `end`, and starts another one after `downMs`. */
  const restartAfter = (downMs: number, end: () => void): void => {
    if (host.life === null) return;
    end();
    undoAfter(downMs, host.start);
  };

  const begin = (fault: Fault): void => {
    if (isHealed) return;
    deps.note(inWords(fault));
    switch (fault.kind) {
      case 'weather': {
        const endCondition = deps.linkOf(fault.place)?.impose(fault.condition);
        if (endCondition !== undefined) undoAfter(fault.forMs, endCondition);
        return;
      }
      case 'break streams':
        return deps.linkOf(fault.place)?.breakStreams(fault.how);
      case 'pause orchestrator':
      case 'sleep':
        host.pause(fault.kind === 'sleep');
        return undoAfter(fault.forMs, host.resume);
      case 'stop orchestrator':
        return restartAfter(fault.downMs, host.stop);
      case 'kill orchestrator':
        return restartAfter(fault.downMs, host.crash);
      case 'crash at':
        restartInMs = fault.downMs;
        return disk.armCrash({ point: fault.point, skip: fault.skip });
      case 'disk full':
        disk.setFull(true);
        return undoAfter(fault.forMs, () => disk.setFull(false));
      case 'disconnect rig of next trainer':
        outageMs = fault.forMs;
        return;
      case 'set clock': {
        const owner = fault.place === 'orchestrator' ? host : deps.rigOf(fault.place)?.rig;
        return owner?.machine.setWall(fault.byMs);
      }
      case 'pause agent':
      case 'kill agent':
      case 'reboot rig':
      case 'lose rig':
      case 'preempt rig':
      case 'upgrade agent':
      case 'kill guard':
      case 'stray report':
        return onRig(fault);
    }
  };
  const onRig = (fault: RigFault): void => {
    const sceneRig = deps.rigOf(fault.rig);
    if (sceneRig === null || sceneRig.rig.isRetired) return;
    const { rig } = sceneRig;
    switch (fault.kind) {
      case 'pause agent':
        rig.pause();
        return undoAfter(fault.forMs, rig.resume);
      case 'kill agent':
        return rig.kill(fault.downMs);
      case 'reboot rig':
        return rig.reboot(fault.downMs);
      case 'lose rig':
        return rig.lose();
      case 'preempt rig':
        return rig.preempt();
      case 'upgrade agent':
        return rig.upgrade();
      case 'kill guard':
        return sceneRig.guard?.kill();
      case 'stray report':
        return sendStrayReport(deps, fault);
    }
  };

  return {
    begin,
    heal() {
      deps.note('all faults end');
      isHealed = true;
      disk.armCrash(null);
      for (const undo of undos) undo();
      host.resume();
      host.start();
      for (const link of deps.links()) link.wakeDeadStreams();
      for (const { rig } of deps.rigs()) rig.start();
    },
    onTrainer(machine) {
      const sceneRig = deps.rigs().find(({ rig }) => rig.machine.name === machine);
      if (outageMs === null || isHealed || sceneRig === undefined) return;
      undoAfter(outageMs, sceneRig.rig.link.impose({ cutUp: true, cutDown: true }));
      deps.note(`${sceneRig.rig.plan.name} is disconnected`);
      outageMs = null;
    },
    onCrash() {
      host.crash();
      undoAfter(restartInMs, host.start);
    },
  };
}

/** Sends a report of a rig about a job that its worker never had. */
function sendStrayReport(
  deps: TroubleDeps,
  { rig: index, job, word }: Extract<Fault, { kind: 'stray report' }>,
): void {
  const rig = deps.rigOf(index)?.rig;
  const id = deps.people.jobOf(job);
  if (rig === undefined || rig.process === null || id === null) return;
  // The report must be about a job that the worker never had. Skip the worker's own jobs, and pending jobs,
  // which the worker may get soon.
  const { store } = deps.disk;
  const isOwn = store.attempts(id).some(({ workerId }) => workerId === rig.workerId);
  if (isOwn || store.job(id)?.status === 'pending') return;
  const body = { status: word, attempt_id: null };
  const path = `/api/workers/job/${id}/status`;
  const request = {
    kind: 'worker',
    method: 'POST',
    path,
    token: rig.token,
    address: '10.0.0.99',
    body,
  } as const;
  void rig.link.call(rig.process, request, 10_000);
}

function inWords(fault: Fault): string {
  const entries = Object.entries(fault).filter(([name]) => name !== 'kind' && name !== 'atMs');
  const details = entries.map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return `${fault.kind}: ${details.join(', ')}`;
}
