import { describe, expect, it } from 'vitest';
import { runSelftest } from '../../../../agent/cli/command.ts';
import { createProgressReader } from '../../../../agent/metrics/progress.ts';
import { tempFolder, writeFile } from '../builders.ts';

/** Runs the self-test without real pauses. Returns its output and the sum of the pauses. */
async function run(config: string | null) {
  const lines: string[] = [];
  let waitedMs = 0;
  const code = await runSelftest(config, {
    print: line => lines.push(line),
    wait: async ms => {
      waitedMs += ms;
    },
    random: () => 0.5,
  });
  return { code, lines, waitedMs };
}

const writeConfig = (text: string): string => writeFile(tempFolder(), 'config.json', text);

describe('self-test', () => {
  it('prints progress that the agent can parse, with a falling loss, and exits with 0', async () => {
    const { code, lines } = await run(writeConfig('{"trainer":"selftest","seconds":1}'));
    const items = createProgressReader().push(lines.map(line => `${line}\n`).join(''));
    const progress = items.flatMap(item => (item.kind === 'progress' ? [item.progress] : []));
    expect(code).toBe(0);
    expect(progress.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(
      progress.every(({ totalSteps, stepsPerSecond }) => totalSteps === 10 && stepsPerSecond === 10),
    ).toBe(true);
    const losses = progress.map(({ loss }) => loss ?? 0);
    expect(losses).toEqual(losses.toSorted((a, b) => b - a));
    expect(losses.at(-1)).toBeCloseTo(Math.exp(-3), 3);
    expect(lines.at(-1)).toMatch(/^self-test done/);
  });

  it.each<[string, string | null, number]>([
    ['without a config', null, 10_000],
    ['with a time in its config', '{"seconds":2.5}', 2_500],
    ['with a time shorter than one step', '{"seconds":0.01}', 100],
    ['with a time that is not a number', '{"seconds":"5"}', 10_000],
    ['with a negative time', '{"seconds":-1}', 10_000],
    ['with a time above the maximum', '{"seconds":1e9}', 10_000],
    ['with a config that is not an object', '[]', 10_000],
  ])('runs a self-test %s (%s) for %i ms', async (_title, config, expected) => {
    const { waitedMs } = await run(config === null ? null : writeConfig(config));
    expect(waitedMs).toBeCloseTo(expected, 3);
  });
});
