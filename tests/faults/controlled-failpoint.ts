import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Failpoint, failpoint, failpointLine, orderSignal } from '../support/failpoint.ts';
import type { Program } from '../support/processes.ts';
import type { FaultFleet } from './fault-fleet.ts';

/** A failpoint that executes orders of the test while its program runs. */
export interface ControlledFailpoint {
  readonly failpoint: Failpoint;
  /** Sends an order to a program. Resolves when the program has logged that it executed the order. */
  sendOrder(order: string, program: Pick<Program, 'kill' | 'waitForLine'>): Promise<void>;
}

export function createControlledFailpoint(
  { folder }: Pick<FaultFleet, 'folder'>,
  preload: URL,
): ControlledFailpoint {
  const orderFile = join(mkdtempSync(join(folder, 'orders-')), 'order');
  return {
    failpoint: failpoint(preload, orderFile),
    async sendOrder(order, program) {
      // Replace the file atomically, because a program may be reading it.
      const newFile = join(mkdtempSync(join(folder, 'orders-')), 'order');
      writeFileSync(newFile, order);
      renameSync(newFile, orderFile);
      program.kill(orderSignal);
      await program.waitForLine(new RegExp(`^${failpointLine(order)}$`));
    },
  };
}
