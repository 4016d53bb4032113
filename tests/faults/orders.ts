import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Failpoint, failpoint, failpointLine, orderSignal } from '../support/failpoint.ts';
import type { Program } from '../support/processes.ts';
import type { Bench } from './bench.ts';

/** A failpoint that is controlled while its program runs. */
export interface Ordered {
  readonly failpoint: Failpoint;
  /** Gives an order. Resolves when the program has confirmed it. */
  give(order: string, program: Pick<Program, 'kill' | 'said'>): Promise<void>;
}

export function orderedFailpoint({ folder }: Pick<Bench, 'folder'>, preload: URL): Ordered {
  const file = join(mkdtempSync(join(folder, 'orders-')), 'order');
  return {
    failpoint: failpoint(preload, file),
    async give(order, program) {
      // Replace the file atomically, because a program may be reading it.
      const written = join(mkdtempSync(join(folder, 'orders-')), 'order');
      writeFileSync(written, order);
      renameSync(written, file);
      program.kill(orderSignal);
      await program.said(new RegExp(`^${failpointLine(order)}$`));
    },
  };
}
