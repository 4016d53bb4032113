import { agentDeaths } from './agent-death.ts';
import { cancels } from './cancel.ts';
import { clocks } from './clock.ts';
import { manyClients } from './many-clients.ts';
import { dispatchCrashes } from './dispatch-crash.ts';
import { drains } from './drain.ts';
import { crashingJobs } from './crashing-jobs.ts';
import { logStorms } from './log-storm.ts';
import { lostAnswers } from './lost-answers.ts';
import { partitions } from './partition.ts';
import { publishedAgents } from './published-agent.ts';
import { restarts } from './restart.ts';
import { rotations } from './rotation.ts';
import type { Scenario } from './scenario.ts';
import { storageFaults } from './storage.ts';
import { streamBreaks } from './stream-break.ts';

/** All scenarios, in the order of the faults in docs/internals/faults.md. */
export const scenarios: readonly Scenario[] = [
  ...dispatchCrashes,
  ...restarts,
  ...agentDeaths,
  ...partitions,
  ...streamBreaks,
  ...lostAnswers,
  ...publishedAgents,
  ...cancels,
  ...drains,
  ...rotations,
  ...clocks,
  ...storageFaults,
  ...manyClients,
  ...crashingJobs,
  ...logStorms,
].toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)));
