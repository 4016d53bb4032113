import { rmSync } from 'node:fs';
import { z } from 'zod';
import { argvOf, isAlive, signal } from '../support/own-processes.ts';
import type { Fleet } from './fleet.ts';
import { machineNow, runsIn } from './journal.ts';
import { pauseFor } from './pause.ts';
import { type Fault, laneOf, type PlannedFault } from './plan.ts';
import type { Rig } from './rig.ts';

const NewToken = z.looseObject({ token: z.string() });

/**
 * Injects all faults of a plan at their times. Faults of one lane (`laneOf`) never overlap. Resolves when all faults are over.
 */
export async function performFaults(
  fleet: Fleet,
  faults: readonly PlannedFault[],
  startedAt: number,
): Promise<void> {
  const lanes = Map.groupBy(faults, ({ fault }) => laneOf(fault));
  await Promise.all(
    [...lanes.values()].map(async lane => {
      for (const planned of lane) {
        await pauseFor(startedAt + planned.at - machineNow(), fleet.ended);
        if (fleet.ended.aborted) return;
        await performFault(fleet, planned);
      }
    }),
  );
}

/** Injects one fault, and records its start and its end in the journal. Never throws. */
async function performFault(fleet: Fleet, planned: PlannedFault): Promise<void> {
  const { faults } = fleet.journals;
  const write = (kind: 'begin' | 'end', text?: string): void =>
    faults.write({ ...planned, kind, time: machineNow(), note: text });
  write('begin');
  try {
    write('end', (await inject(planned.fault, fleet)) ?? undefined);
  } catch (cause) {
    // Usually, another fault has ended a process that this fault needs. The note in the journal shows this.
    write('end', `failed: ${String(cause).slice(0, 100).split('\n')[0]}`);
  }
}

/** Injects one fault. Resolves when the fault is over, with a note for the journal or nothing. */
async function inject(fault: Fault, fleet: Fleet): Promise<string | null | void> {
  if ('rig' in fault) return injectOnRig(fault, fleet.rigs[fault.rig]!, fleet);
  const { server, client, ended, plant } = fleet;
  switch (fault.kind) {
    case 'server_kill':
    case 'server_restart': {
      const isKill = fault.kind === 'server_kill';
      await fleet.end(isKill ? 'SIGKILL' : 'SIGTERM');
      if (isKill && plant?.losesWal === true) rmSync(`${server.databaseFile}-wal`, { force: true });
      await pauseFor(fault.downMs, ended);
      return fleet.start();
    }
    case 'server_stop':
      server.kill('SIGSTOP');
      await pauseFor(fault.forMs, ended);
      return server.kill('SIGCONT');
    case 'disk_full':
      await fleet.sendOrder('disk full');
      await pauseFor(fault.forMs, ended);
      return fleet.sendOrder('disk free');
    case 'clock_jump':
      await fleet.sendOrder(`clock ${fault.shiftMs}`);
      await pauseFor(fault.forMs, ended);
      return fleet.sendOrder('clock 0');
    case 'backup':
      await client.callUntilAccepted('POST', '/api/backup');
  }
}

type RigFault = Extract<Fault, { readonly rig: number }>;

async function injectOnRig(fault: RigFault, rig: Rig, fleet: Fleet): Promise<string | null | void> {
  const { client, ended } = fleet;
  const { link } = rig;
  switch (fault.kind) {
    case 'agent_kill':
      return rig.end('SIGKILL', fault.downMs);
    case 'agent_upgrade':
      return rig.end('SIGUSR2', fault.downMs);
    case 'agent_retire':
      return rig.end('SIGTERM', fault.downMs);
    case 'agent_stop':
      rig.signal('SIGSTOP');
      await pauseFor(fault.forMs, ended);
      return rig.signal('SIGCONT');
    case 'trainer_kill':
      return killTrainer(rig, fleet);
    case 'partition':
      if (fault.how === 'refuse') link.refuse();
      else link[fault.how](fault.way);
      await pauseFor(fault.forMs, ended);
      return link.heal();
    case 'delay':
      link.delay(fault.delayMs);
      await pauseFor(fault.forMs, ended);
      return link.heal();
    case 'cut':
      return link.cut();
    case 'cut_mid_frame':
      return link.cutAfter(fault.afterBytes);
    case 'rotate_token':
      return rotate(rig, fault.fileAfterMs, fleet);
    case 'drain':
      await client.callUntilAccepted('POST', `/api/admin/workers/${rig.id}/drain`, {});
      await pauseFor(fault.forMs, ended);
      await client.callUntilAccepted('POST', `/api/admin/workers/${rig.id}/undrain`);
  }
}

/** Kills the newest running trainer of this rig. Returns a note with its pid; null when no trainer runs. */
function killTrainer(rig: Rig, { journals, folder }: Fleet): string | null {
  const alive = runsIn(journals.trainers.lines()).filter(
    ({ pid, code }) => code === null && isAlive(pid) && argvOf(pid).includes(`${folder}/work-${rig.name}/`),
  );
  const pid = alive.at(-1)?.pid;
  if (pid === undefined) return null;
  signal(pid, 'SIGKILL');
  return `killed ${pid}`;
}

/** Rotates the rig's token, and writes the new token to its file after `fileAfterMs`. */
async function rotate(rig: Rig, fileAfterMs: number, fleet: Fleet): Promise<void> {
  const endRefusals = rig.expectRefusal();
  try {
    const reply = await fleet.client.callUntilAccepted('POST', `/api/admin/workers/${rig.id}/token`, {
      mode: 'now',
    });
    await pauseFor(fileAfterMs, fleet.ended);
    if (reply === null) return;
    fleet.oldTokens.push(rig.token);
    rig.writeToken(NewToken.parse(reply).token);
    // The agent rereads its token file only at intervals, so its calls may still be refused for a while.
    await pauseFor(5_000, fleet.ended);
  } finally {
    endRefusals();
  }
}

/** Ends all faults that are still active after the plan. */
export async function heal(fleet: Fleet): Promise<void> {
  const { server, rigs, client } = fleet;
  // The exit journal already reports a server that ended by itself. Restart it, so that the other rules can be checked.
  if (!isAlive(server.pid)) await fleet.start();
  server.kill('SIGCONT');
  for (const rig of rigs) rig.signal('SIGCONT');
  await Promise.all(rigs.map(rig => rig.link.heal()));
  await fleet.sendOrder('clock 0');
  await fleet.sendOrder('disk free');
  for (const rig of rigs) await client.callUntilAccepted('POST', `/api/admin/workers/${rig.id}/undrain`);
}
