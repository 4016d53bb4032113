import { configsApi } from '../../../protocol/configs-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { configName, takesConfig } from './name.ts';

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a config; what lies beside it stays, and jobs keep what they had',
  shape: command => takesConfig(command).option('--yes', 'do not ask'),
  async act(remote, [word]) {
    const name = configName(word);
    await remote.confirm(`Delete the config ${name}? No job can be submitted by it any more.`);
    const answer = await remote.ask(configsApi.remove, { params: { name } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${answer.file})`]] });
  },
};
