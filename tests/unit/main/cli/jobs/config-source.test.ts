import { expect, it } from 'vitest';
import { guessFormat } from '../../../../../main/cli/jobs/config-source.ts';

it.each([
  ['{"steps": 3}', 'json'],
  ['\ufeff\n  {\n', 'json'],
  ['[1, 2]', 'json'],
  ['[]', 'json'],
  ['[train] # table\nsteps = 3', 'toml'],
  ['[[datasets]]\nname = "a"', 'toml'],
  ['# comment\n\nmodel.name = "flux"', 'toml'],
  ['"a key" = 1', 'toml'],
  ['steps: 3', 'yaml'],
  ['prompt: a = b', 'yaml'],
  ['---\njob: extension', 'yaml'],
  ['# nothing', 'yaml'],
])('guesses the format of %j as %s', (text, format) => {
  expect(guessFormat(text)).toBe(format);
});
