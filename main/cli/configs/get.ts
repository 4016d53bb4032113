import { configsApi } from '../../../protocol/configs-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { configName, takesConfig } from './name.ts';

export const get: RemoteSpec = {
  name: 'get',
  description: 'Print a config as JSON',
  shape: takesConfig,
  async act(remote, [word]) {
    const answer = await remote.ask(configsApi.get, { params: { name: configName(word) } });
    const isWhole = remote.flags['output'] === undefined;
    printOne({ ...remote, flags: { ...remote.flags, json: isWhole } }, { answer, facts: [] });
  },
};
