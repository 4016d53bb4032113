import { setTimeout } from 'node:timers/promises';
import { eventually } from '../../support/notices.ts';
import type { ControlledFailpoint } from '../controlled-failpoint.ts';
import type { ServerProcess } from '../server-process.ts';
import type { Load } from './load.ts';

export interface Subject {
  readonly server: ServerProcess;
  readonly failpoint: ControlledFailpoint;
  readonly load: Load;
}

export interface Injection {
  readonly title: string;
  /** Description of the recovery point, the moment when the fault is over. */
  readonly point: string;
  /** Injects the fault and removes it. Resolves at the recovery point. */
  run(subject: Subject): Promise<void>;
}

const hourMs = 3_600_000;
const fullDiskMs = 3_000;
const controlMs = 1_000;
const waitMs = 30_000;

const offlineCount = ({ server }: Subject): number =>
  server.lines().filter(line => line.includes('"worker.offline"')).length;

export const injections: readonly Injection[] = [
  { title: 'no fault (control)', point: 'after a second', run: () => setTimeout(controlMs) },
  {
    title: 'kill -9 of the orchestrator',
    point: 'ready again',
    async run({ server, failpoint }) {
      await server.killAndWait();
      await server.start({ failpoint: failpoint.failpoint });
    },
  },
  {
    title: 'loss of half of the workers',
    point: 'all connected again',
    async run(subject) {
      const { load } = subject;
      const lost = load.workers.filter((_, index) => index % 2 === 0);
      const countBefore = offlineCount(subject);
      for (const worker of lost) worker.vanish();
      const areOffline = (): boolean => offlineCount(subject) >= countBefore + lost.length;
      await eventually('the server to mark the lost workers offline', areOffline, waitMs);
      for (const worker of lost) worker.comeBack();
      await load.waitForWorkers();
    },
  },
  {
    title: 'all streams cut',
    point: 'the cut',
    async run({ load }) {
      for (const worker of load.workers) worker.cutStream();
    },
  },
  {
    title: 'full disk, freed after 3 s',
    point: 'disk freed',
    async run({ server, failpoint, load }) {
      const countBefore = load.refusedForSpace();
      await failpoint.sendOrder('full', server);
      await eventually('a refused call', () => load.refusedForSpace() > countBefore, waitMs);
      await setTimeout(fullDiskMs);
      await failpoint.sendOrder('free', server);
    },
  },
  {
    title: "the server's clock jumps by 1 h",
    point: 'the jump',
    run: ({ server, failpoint }) => failpoint.sendOrder(String(hourMs), server),
  },
];
