/** Compares the time of one placement decision in small and large fleets, with `decisions.ts`. */
import { spawnSync } from 'node:child_process';
import { type Line, median } from './figures.ts';
import { root } from './program.ts';

export async function measurePlacement(rounds: number): Promise<readonly Line[]> {
  const times = { small: new Array<number>(), large: new Array<number>(), crowded: new Array<number>() };
  for (let round = 0; round < rounds; round++) {
    times.small.push(measureDecision('small'));
    times.large.push(measureDecision('large'));
    times.crowded.push(measureDecision('crowded'));
  }
  const small = median(times.small);
  const large = median(times.large);
  const crowded = median(times.crowded);
  return [
    { what: 'one decision, 100 pending x 10 workers', figure: small, unit: 'us' },
    { what: 'one decision, 100,000 x 10,000 x 50 shapes', figure: large, unit: 'us' },
    { what: '  relative to the small fleet', figure: large / small, unit: 'x', atMost: 1.2 },
    { what: '  with all but one of 2,000 users at their limit', figure: crowded, unit: 'us' },
    { what: '  relative to the small fleet', figure: crowded / small, unit: 'x' },
  ];
}

/** Runs `decisions.ts` for a fleet. Returns the time of one decision in microseconds. */
function measureDecision(fleet: 'small' | 'large' | 'crowded'): number {
  const argv = ['tests/bench/decisions.ts', fleet];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`decisions.ts failed: ${stderr}`);
  return Number(stdout);
}
