import { isLoopbackUrl, reachableFor } from '../../protocol/reachable.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { printOne } from './output.ts';
import type { RemoteSpec } from './remote-command.ts';
import type { Remote } from './remote.ts';

/** Returns the URL that a browser on another machine can open, if the server has one. */
async function panelUrl(remote: Remote): Promise<string> {
  const { url } = remote.connection();
  const settings = await remote.call(settingsApi.get);
  // A token may have the right to create links but not to read settings.
  if (!settings.ok) return url;
  return settings.value.public_url ?? reachableFor(settings.value.network, url);
}

export const link: RemoteSpec = {
  name: 'link',
  description: 'Print a one-time sign-in link for the panel, valid for ten minutes',
  async act(remote) {
    const base = await panelUrl(remote);
    const { path, expires_in_s: seconds } = await remote.ask(sessionApi.link);
    const url = base.replace(/\/+$/, '') + path;
    printOne(remote, {
      answer: { url, expires_in_s: seconds },
      facts: [
        ['Open', url],
        ['Works', `once, for ${Math.round(seconds / 60)} minutes`],
      ],
    });
    if (!isLoopbackUrl(base)) return;
    remote.terminal.err(
      `Warning: ${base} works on this machine only. For a browser on another machine, share the server ` +
        '("trainyard settings set shared=yes tls=yes") or set its public address ("trainyard settings set public_url=URL")\n',
    );
  },
};
