import { configsApi } from '../../../protocol/configs-api.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { configName, takesConfig } from './name.ts';

export const remove: RemoteSpec = {
  name: 'delete',
  description: 'Delete a config. Submitted jobs keep their copy',
  shape: command => takesConfig(command).option('--yes', 'skip the confirmation'),
  async act(remote, [word]) {
    const name = configName(word);
    await remote.confirm(`Delete config ${name}? No new jobs can use it.`);
    const answer = await remote.ask(configsApi.remove, { params: { name } });
    printOne(remote, { answer, facts: [['Deleted', `${name} (${answer.file})`]] });
  },
};
