import { describe, expect, it } from 'vitest';
import { createProgressReader } from '../../../../agent/metrics/progress.ts';
import { createTrackerLinks, findTrackerLink } from '../../../../agent/metrics/tracker-links.ts';
import type { RunLink } from '../../../../protocol/run-link.ts';

/** Returns the links in an output that arrives in pieces of `pieceLength` characters. */
function linksIn(output: string, pieceLength = output.length): readonly RunLink[] {
  const reader = createProgressReader();
  const links = createTrackerLinks();
  // The flag `u` prevents a split inside a character.
  const pieces = output.match(new RegExp(`[\\s\\S]{1,${pieceLength}}`, 'gu')) ?? [];
  const items = [...pieces.flatMap(piece => reader.push(piece)), ...reader.end()];
  return items.flatMap(item => (item.kind === 'line' ? (links.note(item.text) ?? []) : []));
}

const run = { kind: 'wandb', url: 'https://wandb.ai/ada/flux/runs/8k2v1q0x' };
/** The output of the W&B client on a terminal, with colours. */
const wandbStart = [
  'wandb: Currently logged in as: ada. Use `wandb login --relogin` to force relogin',
  '\u001b[34m\u001b[1mwandb\u001b[0m: Syncing run \u001b[33mproud-sun-3\u001b[0m',
  'wandb: ⭐️ View project at \u001b[34m\u001b[4mhttps://wandb.ai/ada/flux\u001b[0m',
  '\u001b[34m\u001b[1mwandb\u001b[0m: 🚀 View run at \u001b[34m\u001b[4mhttps://wandb.ai/ada/flux/runs/8k2v1q0x\u001b[0m',
].join('\n');
const wandbEnd =
  'wandb: 🚀 View run \u001b[33mproud sun at 3\u001b[0m at: \u001b[34mhttps://wandb.ai/ada/flux/runs/8k2v1q0x\u001b[0m';

describe('links to experiment trackers in an output', () => {
  it('finds the run of Weights & Biases once, although its link is printed at the start and at the end', () => {
    expect(linksIn(`${wandbStart}\n{'loss': 0.4}\n${wandbEnd}\n`)).toEqual([run]);
    expect(findTrackerLink(wandbEnd)).toEqual(run);
  });

  it.each([1, 3, 17])('finds a link that arrives in pieces of %i characters', pieceLength => {
    expect(linksIn(`${wandbStart}\n`, pieceLength)).toEqual([run]);
  });

  it('finds a link behind a progress bar on the same line', () => {
    const bar = 'Steps:  45%|████▌     | 450/1000 [01:23<01:41,  5.42it/s, step_loss=0.157]';
    expect(linksIn(`${bar}\r${bar}${wandbEnd}\n${bar}\r`)).toEqual([run]);
  });

  it.each<[string, string, string]>([
    [
      'MLflow',
      '🏃 View run polite-cub-7 at: http://mlflow.lan:5000/#/experiments/4/runs/0b7f5e9c2d',
      'http://mlflow.lan:5000/#/experiments/4/runs/0b7f5e9c2d',
    ],
    [
      'MLflow without emoji',
      'View run flux at: https://adb-1.azuredatabricks.net/ml/experiments/4/runs/0b7f?o=1',
      'https://adb-1.azuredatabricks.net/ml/experiments/4/runs/0b7f?o=1',
    ],
    [
      'SwanLab',
      'swanlab: 🚀 View run at https://swanlab.cn/@ada/flux/runs/07ekmimzfowu0dqyitp77',
      'https://swanlab.cn/@ada/flux/runs/07ekmimzfowu0dqyitp77',
    ],
    [
      'Comet',
      'COMET INFO: Experiment is live on comet.com https://www.comet.com/ada/flux/a51199ef5824451897f3ab0c1900ec4b',
      'https://www.comet.com/ada/flux/a51199ef5824451897f3ab0c1900ec4b',
    ],
    [
      'Trackio',
      '* View dashboard by going to: https://huggingface.co/spaces/ada/trackio',
      'https://huggingface.co/spaces/ada/trackio',
    ],
    [
      'Trackio for a new Space',
      '* Creating new space: \u001b[1m\u001b[38;5;208mhttps://huggingface.co/spaces/ada/trackio\u001b[0m',
      'https://huggingface.co/spaces/ada/trackio',
    ],
    [
      'Trackio for a self-hosted server',
      '* Trackio metrics will be sent to self-hosted server: http://tracker.lan:7860/',
      'http://tracker.lan:7860/',
    ],
  ])('finds the link that %s prints', (_title, line, url) => expect(findTrackerLink(line)?.url).toBe(url));

  it.each([
    'wandb: ⭐️ View project at https://wandb.ai/ada/flux',
    'wandb: 🧹 View sweep at https://wandb.ai/ada/flux/sweeps/7w9xi059',
    '🧪 View experiment at: http://mlflow.lan:5000/#/experiments/4',
    'View run at https://evil.example/ada/flux/runs/8k2v1q0x',
    '* View dashboard by running in your terminal:',
    '* Trackio dashboard opened in browser with write access at: http://127.0.0.1:7860?write_token=abc',
    'wandb: 🚀 View run at file:///etc/passwd',
    'caption: "https://wandb.ai/ada/flux/runs/8k2v1q0x"',
    `${'x'.repeat(3_000)} wandb: 🚀 View run at https://wandb.ai/ada/flux/runs/8k2v1q0x`,
  ])('finds no link in the line %s', line => expect(findTrackerLink(line)).toBeNull());

  it('keeps only the first four links of a program that starts many runs', () => {
    const lines = Array.from({ length: 100 }, (_, n) => `wandb: View run at https://w.lan/a/b/runs/${n}`);
    expect(linksIn(`${lines.join('\n')}\n`).map(({ url }) => url.at(-1))).toEqual(['0', '1', '2', '3']);
  });

  it('searches a line that repeats the start of a match in linear time', () => {
    const line = `://${'View run at '.repeat(5_000)}`;
    const startedAt = performance.now();
    for (let n = 0; n < 200; n += 1) expect(findTrackerLink(line)).toBeNull();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
