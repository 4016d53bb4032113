/** What `trainyard server` is told of the worker on its own machine: flags, then the file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Flags, loadServerConfig } from '../../../main/config.ts';
import { openFolder } from '../../support/fleet-bench.ts';

function load(flags: Flags, file: object = {}) {
  const config = join(openFolder(), 'config.json');
  writeFileSync(config, JSON.stringify(file));
  return loadServerConfig({ ...flags, config }, {});
}

const nothingSaid = { gpus: null, trainer: null, workDir: null };

describe('a worker on this machine', () => {
  test.each<[string, Flags, object, unknown]>([
    ['is not there by default', {}, {}, null],
    ['is there with the flag', { 'local-worker': true }, {}, nothingSaid],
    ['is there with the key', {}, { 'local-worker': true }, nothingSaid],
    ['is not there when the file says no', {}, { 'local-worker': false }, null],
    ['may have its settings in the file, and not be there', {}, { 'local-worker-gpus': '0' }, null],
    [
      'takes each setting from the flag first',
      { 'local-worker': true, 'local-worker-gpus': '1' },
      { 'local-worker-gpus': '0', 'local-worker-trainer': 'node train.ts', 'local-worker-work-dir': '/big' },
      { gpus: '1', trainer: 'node train.ts', workDir: '/big' },
    ],
  ])('%s', (_what, flags, file, expected) => {
    const loaded = load(flags, file);
    expect(loaded.ok && loaded.value.localWorker).toEqual(expected);
  });

  test.each<[string, Flags, object, RegExp]>([
    ['a word for yes', {}, { 'local-worker': 'yes' }, /^local-worker: expected true or false$/],
    ['GPUs that are no numbers', { 'local-worker': true, 'local-worker-gpus': 'all' }, {}, /numbers of GPUs/],
    ['no GPU', { 'local-worker': true, 'local-worker-gpus': '' }, {}, /numbers of GPUs/],
    [
      'an empty trainer',
      { 'local-worker': true },
      { 'local-worker-trainer': ' ' },
      /^local-worker-trainer: /,
    ],
    ['a setting for nobody', { 'local-worker-trainer': 'x' }, {}, /^--local-worker-trainer is for/],
  ])('%s is refused', (_what, flags, file, message) => {
    const loaded = load(flags, file);
    expect(loaded.ok ? 'it was taken' : loaded.refusal.detail).toMatch(message);
  });
});
