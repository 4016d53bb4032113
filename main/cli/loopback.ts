import { isLoopbackUrl } from '../../protocol/reachable.ts';
import type { Remote } from './remote.ts';

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
