import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readOptions } from '../../../dev/options.ts';

const root = '/checkout';

function optionsOf(...argv: readonly string[]) {
  const read = readOptions(argv, root);
  if (read.kind !== 'options') throw new Error(`expected options instead of ${JSON.stringify(read)}`);
  return read.options;
}

test('defaults to the .dev folder, no fixed port and a small fleet', () => {
  expect(optionsOf()).toEqual({
    port: null,
    dataDir: join(root, '.dev'),
    isFresh: false,
    fleet: ['--workers', '8', '--flaky', '1', '--submit-rate', '12/min'],
  });
});

test('passes unknown options to the fleet after the default options, so that the unknown options take precedence', () => {
  const { isFresh, port, fleet } = optionsOf('--workers', '12', '--fresh', '--port', '0', '--seed=7', '-v');
  expect({ isFresh, port }).toEqual({ isFresh: true, port: 0 });
  expect(fleet.slice(-4)).toEqual(['--workers', '12', '--seed=7', '-v']);
});

test('accepts option values after an equals sign', () => {
  expect(optionsOf('--port=8100', '--data-dir=/tmp/a=b')).toMatchObject({
    port: 8_100,
    dataDir: '/tmp/a=b',
  });
});

test.each([
  [['--port', 'many'], '--port'],
  [['--port', '65536'], '--port'],
  [['--port'], '--port'],
  [['--data-dir'], '--data-dir'],
])('rejects the arguments %j and names the option', (argv, name) => {
  expect(readOptions(argv, root)).toMatchObject({ kind: 'trouble', text: expect.stringContaining(name) });
});

test('returns the help for --help, also together with other options', () => {
  expect(readOptions(['--fresh', '--help'], root)).toEqual({ kind: 'help' });
});
