import { readFileSync } from 'node:fs';

export interface SelftestPorts {
  readonly print: (line: string) => void;
  readonly wait: (ms: number) => Promise<unknown>;
  /** Returns a number from 0 to 1, for noise in the loss curve. */
  readonly random: () => number;
}

const stepsPerSecond = 10;
const defaultSeconds = 10;

/**
 * Runs a trainer that trains nothing. It prints progress like a real one for ten seconds (or `seconds` of the config), to test the
 * path of a job through a fleet. Returns an exit code.
 */
export async function runSelftest(configPath: string | null, ports: SelftestPorts): Promise<number> {
  const seconds = configPath === null ? defaultSeconds : secondsOf(configPath);
  const total = Math.max(1, Math.round(seconds * stepsPerSecond));
  for (let step = 1; step <= total; step += 1) {
    await ports.wait(1000 / stepsPerSecond);
    const loss = Math.exp((-3 * step) / total) * (1 + 0.1 * (ports.random() - 0.5));
    ports.print(
      JSON.stringify({
        type: 'progress',
        step,
        total_steps: total,
        loss: Number(loss.toFixed(4)),
        steps_per_second: stepsPerSecond,
      }),
    );
  }
  ports.print('self-test done: the fleet can run jobs on this worker');
  return 0;
}

function secondsOf(configPath: string): number {
  const config: unknown = JSON.parse(readFileSync(configPath, 'utf8'));
  const seconds =
    typeof config === 'object' && config !== null && 'seconds' in config ? config.seconds : undefined;
  return typeof seconds === 'number' && seconds > 0 && seconds <= 3600 ? seconds : defaultSeconds;
}
