import { settingsApi } from '../../../protocol/settings-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { readInput } from '../input.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { findKey, printSettings } from './get.ts';
import { nested, valueFrom } from './keys.ts';

export const set: RemoteSpec = {
  name: 'set',
  description: 'Change settings of the running server, all or none',
  shape: command =>
    command.argument(
      '<settings...>',
      'NAME=VALUE, such as public_url=https://yard.example.org; "none" removes a value; switches are yes or no',
    ),
  async act(remote, words) {
    const wanted = words.map(word => {
      const at = word.indexOf('=');
      if (at < 1) fail(exitCodes.usage, `"${word}": give it as NAME=VALUE`);
      const key = findKey(word.slice(0, at));
      const text = word.slice(at + 1);
      const value = valueFrom(key, text);
      if (value === undefined)
        return fail(exitCodes.usage, `${key.name}: expected ${key.kind}, not "${text}"`);
      return { key, value };
    });
    const change = nested(new Map(wanted.map(({ key, value }) => [key.name, value])));
    const body = readInput(settingsApi.change.body, change, {});
    const answer = await remote.ask(settingsApi.change, { body });
    printSettings(
      remote,
      answer,
      wanted.map(({ key }) => key),
    );
  },
};
