import { type FaultFleet, openFaultFleet } from './fault-fleet.ts';
import { conclude } from './conclude.ts';
import type { Scenario } from './scenario.ts';
import { keepLogs, describeLastOutput } from './logs.ts';

export interface ScenarioResult {
  readonly scenario: Scenario;
  /** Duration of the scenario in ms. */
  readonly ms: number;
  /** Invariants that hold. An invariant without anything to check is not listed. */
  readonly held: readonly string[];
  /** Why the scenario failed, with the last output of all programs; null when it passed. */
  readonly failure: string | null;
}

const defaultLimitMs = 60_000;

/**
 * Runs a scenario with a new fleet, and checks its conditions and the invariants. After a failure, saves all output and files in
 * the folder `logs`, unless it is null. Never throws because of a failed scenario.
 */
export async function runScenario(scenario: Scenario, logs: string | null = null): Promise<ScenarioResult> {
  const startedAt = performance.now();
  const fleet = await openFaultFleet();
  let held: readonly string[] = [];
  let failure: string | null = null;
  try {
    held = await withTimeLimit(scenario.limitMs ?? defaultLimitMs, () => runAndJudge(scenario, fleet));
  } catch (cause) {
    failure = `${textOf(cause)}\n${describeLastOutput(fleet)}`;
    if (logs !== null) keepLogs(fleet, failure, logs);
  }
  await fleet.close();
  return { scenario, ms: performance.now() - startedAt, held, failure };
}

async function runAndJudge(scenario: Scenario, fleet: FaultFleet): Promise<readonly string[]> {
  await scenario.run(fleet);
  const { held, broken } = await conclude(fleet);
  if (broken.length === 0) return held;
  throw new Error(`These invariants do not hold:\n${broken.slice(0, 20).join('\n')}`);
}

async function withTimeLimit<T>(limitMs: number, run: () => Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`the scenario did not end within ${limitMs} ms`)),
    limitMs,
  );
  try {
    return await Promise.race([run(), limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const textOf = (cause: unknown): string =>
  cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
