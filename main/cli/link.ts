import { isLoopbackUrl, reachableFor } from '../../protocol/reachable.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { settingsApi } from '../../protocol/settings-api.ts';
import { printOne } from './output.ts';
import type { RemoteSpec } from './remote-command.ts';
import type { Remote } from './remote.ts';

/** Returns the URL under which other machines reach the panel; if none is known, the URL that this command itself uses. */
async function panelUrl(remote: Remote): Promise<string> {
  const { url } = remote.connection();
  const settings = await remote.call(settingsApi.get);
  // A token may be allowed to create links but not to read settings.
  if (!settings.ok) return url;
  return settings.value.public_url ?? reachableFor(settings.value.network, url);
}

export const link: RemoteSpec = {
  name: 'link',
  description: 'Print a one-time sign-in link for the panel, valid for ten minutes',
  async act(remote) {
    const base = await panelUrl(remote);
    const { path, expires_in_s: seconds } = await remote.request(sessionApi.link);
    const url = base.replace(/\/+$/, '') + path;
    printOne(remote, {
      answer: { url, expires_in_s: seconds },
      facts: [
        ['Open', url],
        ['Valid', `once, within ${Math.round(seconds / 60)} minutes`],
      ],
    });
    if (!isLoopbackUrl(base)) return;
    remote.terminal.err(
      `Warning: ${base} works on this machine only. For a browser on another machine, share the server ` +
        '("trainyard settings set shared=yes tls=yes") or set its public address ("trainyard settings set public_url=URL")\n',
    );
  },
};

/** Returns the server's URL in a join command; null when it contains none. */
function urlInCommand(command: string): string | null {
  const [, quoted, plain] = /--orchestrator-url (?:'([^']*)'|(\S+))/.exec(command) ?? [];
  return quoted ?? plain ?? null;
}

/** Warns when a join command only works on the server's own machine. `again` is the command that prints a new one. */
export function warnOfLoopback({ terminal }: Pick<Remote, 'terminal'>, command: string, again: string): void {
  const url = urlInCommand(command);
  if (url === null || !isLoopbackUrl(url)) return;
  terminal.err(
    `Warning: ${url} works on this machine only, so no other machine can join with this command. Share the server ` +
      `("trainyard settings set shared=yes tls=yes") or set its public address ("trainyard settings set public_url=URL"). Then run "${again}"\n`,
  );
}
